"""`scope tune`: settings of LINPACK, BLAS libraries and storage, searched by measuring."""
