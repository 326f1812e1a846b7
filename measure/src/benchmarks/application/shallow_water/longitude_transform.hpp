// Fourier transforms along longitudes that are divided among a row of processes: by transposition, so that every
// process has whole lines, or distributed, so that processes exchange halves of lines (Worley & Foster 1994;
// Foster & Worley 1997, SIAM J. Sci. Comput. 18, 806-837).
#pragma once

#include <numbers>

#include "benchmarks/application/shallow_water/decomposition.hpp"
#include "benchmarks/application/shallow_water/exchange.hpp"
#include "benchmarks/application/shallow_water/fourier_transform.hpp"
#include "benchmarks/application/shallow_water/quadrature.hpp"
#include "memory/large_pages.hpp"

namespace scope::shallow_water {

// Operations of split or join for one value of a pair of latitudes: four sums of both transforms and four of both
// hemispheres, and in split also four multiplications.
constexpr double flops_of_split = 12;

inline void copy(const double* from, std::ptrdiff_t size, double* to) { std::copy(from, from + size, to); }
constexpr Transposition::Made made;
constexpr Transposition::Kept kept;

// With L values at every point, the data of a process are:
// - grid values, for each of its pairs of latitudes and longitudes: L values of the northern, then L of the
//   southern latitude;
// - Fourier coefficients, for each wave number of the column: the even part (sum of both hemispheres) for each
//   of its pairs of latitudes, then the odd part (difference), each with L real and L imaginary parts.
class LongitudeTransform {
 public:
  LongitudeTransform(const Decomposition& decomposition, const Quadrature& quadrature, int values,
                     npb::Width width, Exchange& exchange)
      : decomposition_(decomposition),
        quadrature_(quadrature),
        exchange_(exchange),
        width_(width),
        values_(values),
        pairs_(decomposition.pairs()),
        longitudes_(decomposition.longitudes()),
        transform_(
            decomposition.row().size() == 1 || decomposition.methods().fourier == FourierMethod::transposition
                ? decomposition.resolution().longitudes
                : longitudes_.size(),
            values, width),
        spectrum_(transform_.points() * element()) {
    const Line& row = decomposition_.row();
    if (row.size() == 1) return;
    const auto own_wavenumbers = static_cast<std::ptrdiff_t>(decomposition_.wavenumbers().size());
    if (decomposition_.methods().fourier == FourierMethod::distributed) {
      const auto theirs =
          static_cast<std::ptrdiff_t>(decomposition_.wavenumbers(decomposition_.mirrored_column()).size());
      const std::ptrdiff_t most = std::max(own_wavenumbers, theirs) * pairs_.size() * element();
      for (auto* buffer : {&positive_, &negative_, &mirrored_}) buffer->resize(most);
      received_.resize(pairs_.size() * longitudes_.size() * element());
      return;
    }
    const std::ptrdiff_t own_pairs = decomposition_.transposed_pairs(row.place()).size();
    std::vector<std::ptrdiff_t> parts_of_lines;
    std::vector<std::ptrdiff_t> own_lines;
    std::vector<std::ptrdiff_t> own_coefficients;
    std::vector<std::ptrdiff_t> theirs_of_coefficients;
    for (int column = 0; column < row.size(); ++column) {
      const std::ptrdiff_t their_pairs = decomposition_.transposed_pairs(column).size();
      const auto their_wavenumbers = static_cast<std::ptrdiff_t>(decomposition_.wavenumbers(column).size());
      parts_of_lines.push_back(their_pairs * longitudes_.size() * element());
      own_lines.push_back(own_pairs * decomposition_.longitudes(column).size() * element());
      theirs_of_coefficients.push_back(2 * their_wavenumbers * own_pairs * element());
      own_coefficients.push_back(2 * own_wavenumbers * their_pairs * element());
    }
    lines_out_.emplace(row, parts_of_lines, own_lines, exchange_);
    lines_in_.emplace(row, own_lines, parts_of_lines, exchange_);
    coefficients_out_.emplace(row, theirs_of_coefficients, own_coefficients, exchange_);
    coefficients_in_.emplace(row, own_coefficients, theirs_of_coefficients, exchange_);
    lines_.resize(lines_out_->received_size());
    line_.resize(decomposition_.resolution().longitudes * element());
    packed_.resize(coefficients_out_->sent_size());
    received_.resize(coefficients_out_->received_size());
  }

  // The pairs of latitudes that this process transforms together: single pairs, which stay in the cache, if it has
  // whole lines; otherwise all, to send few messages.
  static std::vector<Range> bands(const Decomposition& decomposition) {
    const int pairs = decomposition.pairs().size();
    if (decomposition.row().size() > 1) return {{0, pairs}};
    std::vector<Range> bands;
    for (int pair = 0; pair < pairs; ++pair) bands.push_back({pair, pair + 1});
    return bands;
  }

  // Computes the Fourier coefficients of one of the bands, times each latitude's quadrature weight. Overwrites the
  // grid, which must not contain data of other bands.
  void analyse(Range band, double* grid, double* fourier) {
    if (decomposition_.row().size() == 1) return analyse_alone(band, grid, fourier);
    const bool distributed = decomposition_.methods().fourier == FourierMethod::distributed;
    distributed ? analyse_distributed(grid, fourier) : analyse_transposed(grid, fourier);
  }
  void synthesize(Range band, const double* fourier, double* grid) {
    if (decomposition_.row().size() == 1) return synthesize_alone(band, fourier, grid);
    const bool distributed = decomposition_.methods().fourier == FourierMethod::distributed;
    distributed ? synthesize_distributed(fourier, grid) : synthesize_transposed(fourier, grid);
  }

  // Number of floating-point operations of either direction, for all processes together, as if not distributed.
  static double flops(const Resolution& resolution, int values) {
    const FourierTransform whole(resolution.longitudes, values, npb::Width::scalar);
    return resolution.pairs() * (whole.flops() + flops_of_split * values * (resolution.truncation + 1));
  }

 private:
  // Convert between the complex transform of northern latitude + i southern latitude and the Fourier coefficients
  // of some wave numbers of a pair of latitudes, with even parts `apart` doubles before odd parts.
  void split(const double* line, const std::vector<int>& wavenumbers, double weight, double* even,
             std::ptrdiff_t apart) const {
    const int points = transform_.points();
    npb::in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
      for (const int m : wavenumbers) {
        split<lanes>(line + m * element(), line + (points - m) % points * element(), weight, even, even + apart);
        even += 2 * apart;
      }
    });
  }
  void join(const double* even, std::ptrdiff_t apart, const std::vector<int>& wavenumbers, double* line) const {
    const int points = transform_.points();
    npb::in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
      for (const int m : wavenumbers) {
        join<lanes>(even, even + apart, line + m * element(), line + (points - m) % points * element());
        even += 2 * apart;
      }
    });
  }
  // Convert between the coefficients of one wave number m and those of m and -m.
  template <int lanes>
  SCOPE_INLINE void split(const double* positive, const double* negative, double weight, double* even,
                          double* odd) const {
    npb::in_runs<lanes>(0, values_, [&](auto run, int at) SCOPE_INLINE {
      using Real = typename decltype(run)::Real;
      const double half = weight / 2;
      const Real a_re = npb::load<Real>(positive + at);
      const Real a_im = npb::load<Real>(positive + values_ + at);
      const Real b_re = npb::load<Real>(negative + at);
      const Real b_im = npb::load<Real>(negative + values_ + at);
      const Real north_re = half * (a_re + b_re);
      const Real north_im = half * (a_im - b_im);
      const Real south_re = half * (a_im + b_im);
      const Real south_im = half * (b_re - a_re);
      npb::store(even + at, north_re + south_re);
      npb::store(even + values_ + at, north_im + south_im);
      npb::store(odd + at, north_re - south_re);
      npb::store(odd + values_ + at, north_im - south_im);
    });
  }
  template <int lanes>
  SCOPE_INLINE void join(const double* even, const double* odd, double* positive, double* negative) const {
    npb::in_runs<lanes>(0, values_, [&](auto run, int at) SCOPE_INLINE {
      using Real = typename decltype(run)::Real;
      const Real even_re = npb::load<Real>(even + at);
      const Real even_im = npb::load<Real>(even + values_ + at);
      const Real odd_re = npb::load<Real>(odd + at);
      const Real odd_im = npb::load<Real>(odd + values_ + at);
      const Real north_re = even_re + odd_re;
      const Real north_im = even_im + odd_im;
      const Real south_re = even_re - odd_re;
      const Real south_im = even_im - odd_im;
      npb::store(negative + at, north_re + south_im);
      npb::store(negative + values_ + at, south_re - north_im);
      npb::store(positive + at, north_re - south_im);
      npb::store(positive + values_ + at, north_im + south_re);
    });
  }

  std::ptrdiff_t element() const { return 2 * static_cast<std::ptrdiff_t>(values_); }
  double* even_of(double* fourier, int index, int pair) const {
    return fourier + (2 * static_cast<std::ptrdiff_t>(index) * pairs_.size() + pair) * element();
  }
  const double* even_of(const double* fourier, int index, int pair) const {
    return even_of(const_cast<double*>(fourier), index, pair);
  }
  std::ptrdiff_t to_odd() const { return pairs_.size() * element(); }
  // The weight of one of this rank's pairs.
  double weight(int pair) const {
    return quadrature_.weights[pairs_.begin + pair] / decomposition_.resolution().longitudes;
  }

  void analyse_alone(Range band, const double* grid, double* fourier) {
    for (int pair = band.begin; pair < band.end; ++pair, grid += longitudes_.size() * element())
      split(transform_.forward(grid), decomposition_.wavenumbers(), weight(pair), even_of(fourier, 0, pair),
            to_odd());
  }
  void synthesize_alone(Range band, const double* fourier, double* grid) {
    for (int pair = band.begin; pair < band.end; ++pair, grid += longitudes_.size() * element()) {
      join(even_of(fourier, 0, pair), to_odd(), decomposition_.wavenumbers(), spectrum_.data());
      copy(transform_.backward(spectrum_.data()), longitudes_.size() * element(), grid);
    }
  }
  void analyse_transposed(double* grid, double* fourier) {
    const Line& row = decomposition_.row();
    const Range mine = decomposition_.transposed_pairs(row.place());
    lines_out_->run(exchange_, grid, lines_.data(), made, kept);
    for (int pair = 0; pair < mine.size(); ++pair) {
      for (int column = 0; column < row.size(); ++column) {
        const Range part = decomposition_.longitudes(column);
        const double* const slab = column == row.place() ? grid + lines_out_->sent_begin(column)
                                                         : lines_.data() + lines_out_->received_begin(column);
        const std::ptrdiff_t size = part.size() * element();
        copy(slab + pair * size, size, line_.data() + part.begin * element());
      }
      const double* const found = transform_.forward(line_.data());
      for (int column = 0; column < row.size(); ++column) {
        const bool own = column == row.place();
        double* const even = own ? even_of(fourier, 0, mine.begin + pair)
                                 : packed_.data() + coefficients_out_->sent_begin(column) + pair * element();
        split(found, decomposition_.wavenumbers(column), weight(mine.begin + pair), even,
              own ? to_odd() : mine.size() * element());
      }
    }
    coefficients_out_->run(exchange_, packed_.data(), received_.data(), made, [&](int column, const double* slab) {
      if (column == row.place()) return;
      const Range theirs = decomposition_.transposed_pairs(column);
      const std::ptrdiff_t size = theirs.size() * element();
      for (std::size_t part = 0; part < 2 * decomposition_.wavenumbers().size(); ++part)
        copy(slab + part * size, size, fourier + (part * pairs_.size() + theirs.begin) * element());
    });
  }
  void synthesize_transposed(const double* fourier, double* grid) {
    const Line& row = decomposition_.row();
    const Range mine = decomposition_.transposed_pairs(row.place());
    // Each process of the row receives its pairs of latitudes.
    coefficients_in_->run(
        exchange_, received_.data(), packed_.data(),
        [&](int column, double* slab) {
          if (column == row.place()) return;
          const Range theirs = decomposition_.transposed_pairs(column);
          const std::ptrdiff_t size = theirs.size() * element();
          for (std::size_t part = 0; part < 2 * decomposition_.wavenumbers().size(); ++part)
            copy(fourier + (part * pairs_.size() + theirs.begin) * element(), size, slab + part * size);
        },
        kept);
    for (int pair = 0; pair < mine.size(); ++pair) {
      for (int column = 0; column < row.size(); ++column) {
        const bool own = column == row.place();
        const double* const even =
            own ? even_of(fourier, 0, mine.begin + pair)
                : packed_.data() + coefficients_in_->received_begin(column) + pair * element();
        join(even, own ? to_odd() : mine.size() * element(), decomposition_.wavenumbers(column), spectrum_.data());
      }
      const double* const found = transform_.backward(spectrum_.data());
      for (int column = 0; column < row.size(); ++column) {
        const Range part = decomposition_.longitudes(column);
        const std::ptrdiff_t size = part.size() * element();
        double* const slab = column == row.place() ? grid + lines_in_->received_begin(column)
                                                   : lines_.data() + lines_in_->sent_begin(column);
        copy(found + part.begin * element(), size, slab + pair * size);
      }
    }
    lines_in_->run(exchange_, lines_.data(), grid, made, kept);
  }
  void analyse_distributed(double* grid, double* fourier) {
    const int columns = decomposition_.row().size();
    const int points = decomposition_.resolution().longitudes;
    for (int distance = columns / 2; distance >= 1; distance /= 2) butterfly(grid, distance, true);
    const auto& own = decomposition_.wavenumbers();
    const auto& theirs = decomposition_.wavenumbers(decomposition_.mirrored_column());
    for (int pair = 0; pair < pairs_.size(); ++pair) {
      const double* const found = transform_.forward(grid + pair * longitudes_.size() * element());
      double* to = positive_.data() + pair * element();
      for (const int m : own) {
        copy(found + m / columns * element(), element(), to);
        to += pairs_.size() * element();
      }
      to = negative_.data() + pair * element();
      for (const int m : theirs) {
        copy(found + (points - m) % points / columns * element(), element(), to);
        to += pairs_.size() * element();
      }
    }
    const std::ptrdiff_t each = pairs_.size() * element();
    const int partner = decomposition_.mirrored_column();
    const double* negative = negative_.data();
    if (partner != decomposition_.row().place()) {
      exchange_.swap(decomposition_.row(), negative_.data(), static_cast<std::ptrdiff_t>(theirs.size()) * each,
                     partner, mirrored_.data(), static_cast<std::ptrdiff_t>(own.size()) * each, partner);
      negative = mirrored_.data();
    } else {
      exchange_.pass();
    }
    npb::in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
      for (std::size_t index = 0; index < own.size(); ++index) {
        for (int pair = 0; pair < pairs_.size(); ++pair) {
          const std::ptrdiff_t at = (static_cast<std::ptrdiff_t>(index) * pairs_.size() + pair) * element();
          double* const even = even_of(fourier, static_cast<int>(index), pair);
          split<lanes>(positive_.data() + at, negative + at, weight(pair), even, even + to_odd());
        }
      }
    });
  }
  void synthesize_distributed(const double* fourier, double* grid) {
    const int columns = decomposition_.row().size();
    const int points = decomposition_.resolution().longitudes;
    const auto& own = decomposition_.wavenumbers();
    const auto& theirs = decomposition_.wavenumbers(decomposition_.mirrored_column());
    npb::in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
      for (std::size_t index = 0; index < own.size(); ++index) {
        for (int pair = 0; pair < pairs_.size(); ++pair) {
          const std::ptrdiff_t at = (static_cast<std::ptrdiff_t>(index) * pairs_.size() + pair) * element();
          const double* const even = even_of(fourier, static_cast<int>(index), pair);
          join<lanes>(even, even + to_odd(), positive_.data() + at, negative_.data() + at);
        }
      }
    });
    const std::ptrdiff_t each = pairs_.size() * element();
    const int partner = decomposition_.mirrored_column();
    const double* negative = negative_.data();
    if (partner != decomposition_.row().place()) {
      exchange_.swap(decomposition_.row(), negative_.data(), static_cast<std::ptrdiff_t>(own.size()) * each,
                     partner, mirrored_.data(), static_cast<std::ptrdiff_t>(theirs.size()) * each, partner);
      negative = mirrored_.data();
    } else {
      exchange_.pass();
    }
    for (int pair = 0; pair < pairs_.size(); ++pair) {
      const double* from = negative + pair * element();
      for (const int m : theirs) {
        copy(from, element(), spectrum_.data() + (points - m) % points / columns * element());
        from += each;
      }
      // Done last because the coefficient of m = 0 is its own mirror image.
      from = positive_.data() + pair * element();
      for (const int m : own) {
        copy(from, element(), spectrum_.data() + m / columns * element());
        from += each;
      }
      const double* const found = transform_.backward(spectrum_.data());
      copy(found, longitudes_.size() * element(), grid + pair * longitudes_.size() * element());
    }
    for (int distance = 1; distance < columns; distance *= 2) butterfly(grid, distance, false);
  }

  // One stage of a distributed transform, with the process at this distance in the row.
  // Decimation in frequency: in a group of 2 `distance` processes, the first half keeps the sums of both halves'
  // points, and the second half keeps the differences times exp(-2 pi i s / n), where s is the number of the point
  // in its half and n the number of points in the group. The backward transform does the same in reverse order.
  void butterfly(double* grid, int distance, bool forward) {
    const Line& row = decomposition_.row();
    const int partner = row.place() ^ distance;
    const std::ptrdiff_t values = longitudes_.size() * element();
    const int pairs = pairs_.size();
    if (!forward) turn(grid, distance, false);
    if (!exchange_.nonblocking()) {
      exchange_.swap(row, grid, values * pairs, partner, received_.data(), values * pairs, partner);
      combine(grid, {0, pairs}, distance);
    } else {
      // The first half of the pairs is combined while the second half is in flight.
      const Range halves[] = {{0, (pairs + 1) / 2}, {(pairs + 1) / 2, pairs}};
      MPI_Request requests[2][2];  // for each half: to receive and to send
      exchange_.communicate();
      for (int half = 0; half < 2; ++half) {
        Exchange::start_receive(row, received_.data() + halves[half].begin * values, halves[half].size() * values,
                                partner, &requests[half][0]);
      }
      for (int half = 0; half < 2; ++half) {
        exchange_.start_send(row, grid + halves[half].begin * values, halves[half].size() * values, partner,
                             &requests[half][1]);
      }
      exchange_.offer();
      exchange_.meet(row.at(partner));
      for (int half = 0; half < 2; ++half) {
        // Data must not change before they are sent.
        MPI_Waitall(2, requests[half], MPI_STATUSES_IGNORE);
        exchange_.compute();
        combine(grid, halves[half], distance);
        if (half == 0) exchange_.communicate();
      }
    }
    if (forward) turn(grid, distance, true);
  }
  // Computes the sum of this process's and its partner's points in the first half of a group, and the partner's
  // minus its own in the second half.
  void combine(double* grid, Range pairs, int distance) {
    const double sign = (decomposition_.row().place() & distance) != 0 ? -1 : 1;
    const std::ptrdiff_t values = longitudes_.size() * element();
    double* const own = grid + pairs.begin * values;
    const double* const theirs = received_.data() + pairs.begin * values;
    npb::in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
      npb::in_runs<lanes>(0, static_cast<int>(pairs.size() * values), [&](auto run, int at) SCOPE_INLINE {
        using Real = typename decltype(run)::Real;
        npb::store(own + at, npb::load<Real>(theirs + at) + sign * npb::load<Real>(own + at));
      });
    });
  }
  // Multiplies the points of the second half of a group by exp(-2 pi i s / n), or by its conjugate if backward.
  void turn(double* grid, int distance, bool forward) {
    const int place = decomposition_.row().place();
    if ((place & distance) == 0) return;
    const int own = longitudes_.size();
    npb::in_lanes(width_, [&]<int lanes>() SCOPE_INLINE {
      for (int point = 0; point < own; ++point) {
        const int number = place % distance * own + point;
        const double angle = -std::numbers::pi * number / (static_cast<double>(distance) * own);
        const double re = std::cos(angle);
        const double im = forward ? std::sin(angle) : -std::sin(angle);
        for (int pair = 0; pair < pairs_.size(); ++pair) {
          double* const x = grid + (static_cast<std::ptrdiff_t>(pair) * own + point) * element();
          npb::in_runs<lanes>(0, values_, [&](auto run, int at) SCOPE_INLINE {
            using Real = typename decltype(run)::Real;
            const Real x_re = npb::load<Real>(x + at);
            const Real x_im = npb::load<Real>(x + values_ + at);
            npb::store(x + at, re * x_re - im * x_im);
            npb::store(x + values_ + at, re * x_im + im * x_re);
          });
        }
      }
    });
  }

  const Decomposition& decomposition_;
  const Quadrature& quadrature_;
  Exchange& exchange_;
  npb::Width width_;
  int values_;
  Range pairs_;
  Range longitudes_;
  FourierTransform transform_;
  LargeArray spectrum_;  // of a line; coefficients beyond the truncation stay 0
  // For transposition: exchange lines and Fourier coefficients between processes.
  std::optional<Transposition> lines_out_;
  std::optional<Transposition> lines_in_;
  std::optional<Transposition> coefficients_out_;
  std::optional<Transposition> coefficients_in_;
  LargeArray lines_;
  std::vector<double> line_;
  LargeArray packed_;
  LargeArray received_;
  // For distributed transforms.
  std::vector<double> positive_;  // coefficients of m, for each of this process's wave numbers and pairs
  std::vector<double> negative_;  // coefficients of -m, to or from the mirrored column
  std::vector<double> mirrored_;
};

}  // namespace scope::shallow_water
