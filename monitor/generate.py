"""Writes the wrappers of the monitor from the table of MPI's routines, for the mpi.h at hand.

    generate.py ROUTINES HEADER FOLDER

ROUTINES is routines.txt; HEADER is `#include <mpi.h>` after the preprocessor, with its macros; FOLDER receives
routines.hpp (their numbers and names), next.hpp (pointers to MPI's own), entries_c.cpp and entries_fortran.cpp
(the entries that programs call). Needs only the standard library.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BYTES = {
    "none": "0",
    "message": "bytes_of(count, datatype)",
    "send": "bytes_of(sendcount, sendtype)",
    "partitions": "static_cast<u8>(partitions) * bytes_of(count, datatype)",
    "gather": "gathered({comm}, root, sendbuf, sendcount, sendtype, recvcount, recvtype)",
    "gatherv": "gathered_v({comm}, root, sendbuf, sendcount, sendtype, recvcounts, recvtype)",
    "allgather": "is_in_place(sendbuf) ? bytes_of(recvcount, recvtype) : bytes_of(sendcount, sendtype)",
    "allgatherv": "is_in_place(sendbuf) ? own_bytes({comm}, recvcounts, recvtype) : bytes_of(sendcount, sendtype)",
    "scatter": "scattered({comm}, root, sendcount, sendtype)",
    "scatterv": "scattered_v({comm}, root, sendcounts, sendtype)",
    "alltoall": "peers_of({comm}) * (is_in_place(sendbuf) ? bytes_of(recvcount, recvtype)"
    " : bytes_of(sendcount, sendtype))",
    "alltoallv": "is_in_place(sendbuf) ? sum_of(peers_of({comm}), recvcounts, recvtype)"
    " : sum_of(peers_of({comm}), sendcounts, sendtype)",
    "alltoallw": "is_in_place(sendbuf) ? sum_of_each(peers_of({comm}), recvcounts, recvtypes)"
    " : sum_of_each(peers_of({comm}), sendcounts, sendtypes)",
    "reduce_scatter": "sum_of(size_of({comm}), recvcounts, datatype)",
    "reduce_scatter_block": "size_of({comm}) * bytes_of(recvcount, datatype)",
    "neighbor_alltoall": "neighbors_of({comm}) * bytes_of(sendcount, sendtype)",
    "neighbor_alltoallv": "sum_of(neighbors_of({comm}), sendcounts, sendtype)",
    "neighbor_alltoallw": "sum_of_each(neighbors_of({comm}), sendcounts, sendtypes)",
    "origin": "bytes_of(origin_count, origin_datatype)",
    "result": "bytes_of(result_count, result_datatype)",
    "element": "bytes_of(1, datatype)",
    "status": "",  # what arrived
    "started": "",  # of what is started
}
"""Expressions for the bytes of a call; docs/method/monitor.md explains each."""


@dataclass(frozen=True)
class Template:
    """The code of a wrapper around MPI's own routine.

    {comm}, {request}, {window}, {file}, {type}, {message} stand for the argument of that type, {new} for the
    new handle, {text} for a file's name, {raw:name} for the program's own argument, {first:…} for the first
    index, {bytes} for the rule. Any other word that is an argument's name is its value as in C.
    """

    before: str = ""
    after: str = "call.local();"
    passes: str = ""
    """The argument that MPI receives in place of the status."""


def _receives(after: str) -> Template:
    return Template("Statuses seen(call, 1, {raw:status});", after, "seen.pass({program:status})")


def _waits(count: str, statuses: str, after: str) -> Template:
    before = f"Waiting waiting(call, {count}, {{requests}});\n  Statuses seen(call, {statuses}, {{raw:status}});"
    return Template(before, after, "seen.pass({program:status})")


SEND = "{comm}, dest, tag, {bytes}"
TARGET = "{window}, target_rank, {bytes}"
KINDS = {
    "local": Template(),
    "collective": Template(after="call.collective({comm}, {bytes});"),
    "probe": Template(after="call.collective({comm}, 0);"),
    "send": Template(after=f"call.sent({SEND});"),
    "receive": _receives("call.received({comm}, *seen.read());"),
    "exchange": _receives("call.exchanged({comm}, dest, sendtag, {bytes}, *seen.read());"),
    "start_send": Template(after=f"call.started_send({SEND}, *{{request}});"),
    "start_receive": Template(after="call.started_receive({comm}, *{request});"),
    "start_exchange": Template(after="call.started_exchange({comm}, dest, sendtag, {bytes}, *{request});"),
    "start_collective": Template(after="call.started({comm}, {bytes}, *{request});"),
    "prepare_send": Template(after=f"call.prepared_send({SEND}, *{{request}});"),
    "prepare_receive": Template(after="call.prepared_receive({comm}, *{request});"),
    "prepare_collective": Template(after="call.prepared({comm}, {bytes}, *{request});"),
    "probe_message": Template(after="call.probed_message({comm}, {found}, key_of(*{message}));"),
    "receive_message": Template(
        "const u8 matched = key_of(*{message});\n  Statuses seen(call, 1, {raw:status});",
        "call.received_message(matched, *seen.read());",
        "seen.pass({program:status})",
    ),
    "start_receive_message": Template(
        "const u8 matched = key_of(*{message});", "call.started_message(matched, *{request});"
    ),
    "start": Template("Waiting waiting(call, 1, {requests});", "call.activated(waiting);"),
    "startall": Template("Waiting waiting(call, count, {requests});", "call.activated(waiting);"),
    "wait": _waits("1", "1", "waiting.one(0, *seen.read());"),
    "test": _waits("1", "1", "*flag ? waiting.one(0, *seen.read()) : waiting.none();"),
    "waitall": _waits("count", "count", "waiting.all(seen.read());"),
    "testall": _waits("count", "count", "*flag ? waiting.all(seen.read()) : waiting.none();"),
    "waitany": _waits(
        "count",
        "1",
        "*indx != MPI_UNDEFINED ? waiting.one(*indx - {first:count:*indx}, *seen.read()) : waiting.none();",
    ),
    "testany": _waits(
        "count",
        "1",
        "*flag && *indx != MPI_UNDEFINED ? waiting.one(*indx - {first:count:*indx}, *seen.read())"
        " : waiting.none();",
    ),
    "waitsome": _waits(
        "incount",
        "incount",
        "*outcount > 0 ? waiting.some(*outcount, array_of_indices, {first:incount:*array_of_indices}, seen.read())"
        " : waiting.none();",
    ),
    "free_request": Template("const u8 freed = key_of(*{request});", "call.freed_request(freed);"),
    "cancel": Template("const u8 asked = key_of(*{request});", "call.cancelled(asked);"),
    "put": Template(after=f"call.accessed({TARGET}, Direction::send);"),
    "get": Template(after=f"call.accessed({TARGET}, Direction::receive);"),
    "start_put": Template(after=f"call.started_access({TARGET}, Direction::send, *{{request}});"),
    "start_get": Template(after=f"call.started_access({TARGET}, Direction::receive, *{{request}});"),
    "window": Template(after="call.collective(members_of_window({window}), 0);"),
    "free_window": Template("const MPI_Win freed = *{window};", "forget_window(freed);\n    call.local();"),
    "file": Template(after="call.file({file}, 0);"),
    "transfer_file": Template(after="call.file({file}, {bytes}, has_gaps(datatype));"),
    "start_file": Template(after="call.started_file({file}, {bytes}, has_gaps(datatype), *{request});"),
    "view_file": Template(after="call.viewed_file({file}, has_gaps(filetype));"),
    "open_file": Template(after="call.opened_file(*{file}, {comm}, {text});"),
    "close_file": Template("const MPI_File freed = *{file};", "call.closed_file(freed);"),
    "create_communicator": Template(after="created(*{new});\n    call.collective({comm}, 0);"),
    "create_from_group": Template(after="created(*{new});\n    call.collective(*{new}, 0);"),
    "free_communicator": Template("const MPI_Comm freed = *{new};", "forget(freed);\n    call.local();"),
    "free_type": Template("const MPI_Datatype freed = *{type};", "forget_type(freed);\n    call.local();"),
    "begin": Template("const u8 begin = init_begins();", "began(begin);"),
    "begin_session": Template("const u8 begin = init_begins();", "session_began(begin, *session);"),
    "end": Template("const u8 begin = ending();", "ended(begin);"),
    "end_session": Template("session_ending();", ""),
    "abort": Template("aborting(errorcode);", ""),
    "control": Template("control(level);", ""),
    "behind": Template(),
}
KINDS["testsome"] = KINDS["waitsome"]
LIFETIME = {"begin", "begin_session", "end", "end_session", "abort", "control"}
"""Kinds that are not counted as calls."""
BEHIND = "behind"
"""The kind of a routine that programs find in the library alone. By MPI_Get_version, bindings that load their MPI
late (mpi4py) find out whether one is loaded already; an entry here would tell them so in a program without any."""

FROM_FORTRAN = {
    "MPI_Comm": "communicator_of",
    "MPI_Datatype": "type_of",
    "MPI_Win": "window_of",
    "MPI_File": "file_of",
    "MPI_Request": "request_of",
    "MPI_Message": "message_of",
    "MPI_Session": "session_of",
}
"""Functions that convert a Fortran handle."""


@dataclass(frozen=True)
class Argument:
    """One argument of a declaration: `const int sendcounts[]` is ("const int", "sendcounts", "[]")."""

    type: str
    name: str
    array: str

    @property
    def declaration(self) -> str:
        """The declaration in C."""
        return f"{self.type} {self.name}{self.array}" if self.name else self.type

    @property
    def handle(self) -> str:
        """The type without const, pointer and array."""
        return self.type.removeprefix("const ").rstrip("*")


@dataclass(frozen=True)
class Routine:
    """One routine in one of its forms."""

    name: str
    returns: str
    kind: str
    rule: str
    arguments: tuple[Argument, ...]

    def first(self, type_: str) -> Argument | None:
        """Return the first argument of a handle's type."""
        return next((one for one in self.arguments if one.handle == type_), None)

    def last(self, type_: str) -> Argument | None:
        """Return the last argument of a handle's type."""
        return next((one for one in reversed(self.arguments) if one.handle == type_), None)


LINE = re.compile(r"(\d\.\d) +(\w+) +(\w+) +(?:([\w]+) )?(\w+)\((.*)\)")
PLACEHOLDER = re.compile(r"\{(?:comm|request|requests|window|file|type|message|new|text|raw:\w+|program:\w+)\}")
ARGUMENT = re.compile(r"(.+?[\s*])\s*(\w+)((?:\[\w*\])*)")


def routines(text: str) -> Iterator[Routine]:
    """Yield the routines of the table; those with a form for large counts twice."""
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if match is None or match[2] not in KINDS or match[3] not in BYTES:
            raise SystemExit(f"routines.txt: cannot be understood: {line}")
        _, kind, rule, returns, name, declared = match.groups()
        words = [word.strip() for word in declared.split(",")] if declared else []
        for form, suffix in enumerate(("", "_c") if "|" in declared else ("",)):
            yield Routine(
                name + suffix, returns or "int", kind, rule, tuple(_argument(word, form) for word in words)
            )


def _argument(word: str, form: int) -> Argument:
    if word == "...":
        return Argument(word, "", "")
    match = ARGUMENT.fullmatch(word)
    if match is None:
        raise SystemExit(f"routines.txt: {word}: no argument")
    types = match[1].strip().split("|")
    return Argument(types[form if len(types) > 1 else 0], match[2], match[3])


def declared(header: str) -> set[str]:
    """Return the routines that a preprocessed mpi.h declares, without MPI_; not those that are macros."""
    macros = set(re.findall(r"^#define MPI_(\w+)\(", header, re.MULTILINE))
    return set(re.findall(r"\bMPI_(\w+)\s*\(", header)) - macros


def numbers(chosen: list[Routine]) -> str:
    """Return routines.hpp."""
    names = ", ".join(f'"{one.name}"' for one in chosen)
    each = "\n".join(f"inline constexpr unsigned {one.name} = {i};" for i, one in enumerate(chosen, 1))
    return f"""#pragma once
namespace scope {{
inline constexpr int routine_count = {len(chosen) + 1};
inline constexpr const char* routine_names[routine_count] = {{"none", {names}}};
namespace routine {{
{each}
}}
}}
"""


def pointers(chosen: list[Routine]) -> str:
    """Return next.hpp."""
    each = "\n".join(f"  decltype(&PMPI_{one.name}) {one.name};" for one in chosen)
    has = "\n".join(f"#define SCOPE_HAS_{one.name}" for one in chosen if one.kind in LIFETIME)
    return f"""#pragma once
#include <mpi.h>
#include "routines.hpp"
{has}
namespace scope {{
struct Next {{
{each}
}};
extern Next next;
extern bool next_is_known;
extern void* mpi_library;
bool know_next();
}}
"""


class Language:
    """The placeholders of a template in C."""

    first = "0"
    """The first index of completed requests; it may name the {requests}, their {count} and one {index}."""

    def __init__(self, routine: Routine) -> None:
        self.routine = routine

    def raw(self, argument: Argument) -> str:
        """Return the program's argument, converted to the type in C."""
        return argument.name

    def program(self, argument: Argument) -> str:
        """Return the program's argument, in its own type."""
        return argument.name

    def text(self, argument: Argument) -> str:
        """Return the first text of the program's arguments as in C."""
        return argument.name

    def requests(self, argument: Argument) -> str:
        """Return the request handles of a wait."""
        return argument.name if argument.type.endswith("*") or argument.array else f"&{argument.name}"

    def fill(self, text: str) -> str:
        """Return the lines of a template."""
        routine = self.routine
        status = routine.first("MPI_Status")
        named = {
            "comm": routine.first("MPI_Comm"),
            "request": routine.first("MPI_Request"),
            "window": routine.first("MPI_Win"),
            "file": routine.first("MPI_File"),
            "type": routine.first("MPI_Datatype"),
            "message": routine.first("MPI_Message"),
            "new": routine.last("MPI_Comm"),
        }
        text = text.replace("{bytes}", BYTES[routine.rule])
        text = text.replace("{found}", "*flag" if any(one.name == "flag" for one in routine.arguments) else "true")
        if routine.kind.endswith(("any",)):
            indices = [one.name for one in routine.arguments if one.name in ("index", "indx")]
            text = re.sub(r"\bindx\b", indices[0], text)
        if (match := re.search(r"\{first:(\w+):([^}]*)\}", text)) and (requests := named["request"]):
            first = self.first.format(requests=requests.name, count=match[1], index=match[2])
            text = text.replace(match[0], first)
        if "{requests}" in text and named["request"]:
            text = text.replace("{requests}", self.requests(named["request"]))
        if words := next((one for one in routine.arguments if "char" in one.type), None):
            text = text.replace("{text}", self.text(words))
        if status:
            text = text.replace("{raw:status}", self.raw(status)).replace("{program:status}", self.program(status))
        for word, argument in named.items():
            if argument:
                text = text.replace(f"{{{word}}}", argument.name)
        if PLACEHOLDER.search(text):
            raise SystemExit(f"{routine.name}: no argument for {text}")
        return text


def c_entry(routine: Routine) -> str:
    """Return the wrapper that C programs call."""
    template, language = KINDS[routine.kind], Language(routine)
    status = routine.first("MPI_Status")
    passed = [
        language.fill(template.passes) if template.passes and one is status else one.name
        for one in routine.arguments
        if one.name
    ]
    declaration = ", ".join(one.declaration for one in routine.arguments)
    head = f"SCOPE_ENTRY {routine.returns} MPI_{routine.name}({declaration}) {{\n  SCOPE_NEXT\n"
    if routine.kind in LIFETIME:
        after = language.fill(template.after)
        tail = f"  if (code == MPI_SUCCESS) {after}\n" if after else ""
        return (
            f"{head}  {language.fill(template.before)}\n"
            f"  const int code = next.{routine.name}({', '.join(passed)});\n{tail}  return code;\n}}\n"
        )
    before = f"  {language.fill(template.before)}\n" if template.before else ""
    ends = "call.ends(code)" if routine.returns == "int" else "call.ends()"
    call = "PlainCall" if routine.kind == "local" else "Call"
    return (
        f"{head}  {call} call(routine::{routine.name}, __builtin_return_address(0));\n{before}"
        f"  const {routine.returns} code = next.{routine.name}({', '.join(passed)});\n"
        f"  if ({ends}) {{\n    {language.fill(template.after)}\n  }}\n  return code;\n}}\n"
    )


def has_fortran(routine: Routine) -> bool:
    """Say whether Fortran has the routine; conversions between the languages are for C."""
    conversion = re.search(r"_(c2f|f2c|c2f08|f082c|f082f|f2f08|toint|fromint)$", routine.name)
    return conversion is None and not routine.name.startswith("Abi_") and routine.kind != BEHIND


class Fortran(Language):
    """The placeholders in Fortran entries, where every argument is an address and handles are integers."""

    first = "first_index({requests}_f, {count}, {index})"

    def raw(self, argument: Argument) -> str:
        """Return the program's argument, converted to the type in C."""
        return f"status_of({argument.name}_f)"

    def program(self, argument: Argument) -> str:
        """Return the program's argument."""
        return f"{argument.name}_f"

    def text(self, argument: Argument) -> str:
        """Return the first text of the program's arguments as in C: without the blanks at its end."""
        return f"text_of({argument.name}_f, length0).c_str()"

    def requests(self, argument: Argument) -> str:
        """Return the request handles of a wait."""
        return f"FortranRequests{{{argument.name}_f}}"

    def values(self, text: str) -> str:
        """Return the declarations of the arguments that a filled template names, with their values as in C."""
        words = set(re.findall(r"\w+", text))
        return "".join(f"  {self._value(one)}\n" for one in self.routine.arguments if one.name in words)

    def _value(self, argument: Argument) -> str:
        type_, name = argument.type, argument.name
        from_fortran = FROM_FORTRAN.get(argument.handle)
        address = f"{name}_f"
        if type_.removeprefix("const ") == "void*":
            return f"const void* const {name} = buffer_of({address});"
        if argument.handle == "MPI_Datatype" and argument.array:
            return f"const FortranTypes {name}{{{address}}};"
        if from_fortran is not None:
            value = f"{from_fortran}(integer_at({address}))"
            if type_.endswith("*"):
                handle_type = argument.handle
                return f"{handle_type} {name}_value = {value};\n  {handle_type}* const {name} = &{name}_value;"
            return f"const {argument.handle} {name} = {value};"
        element = argument.handle.replace("int", "MPI_Fint") if argument.handle == "int" else argument.handle
        if type_.endswith("*") or argument.array:
            return f"const {element}* const {name} = static_cast<const {element}*>({address});"
        return f"const {element} {name} = *static_cast<const {element}*>({address});"


def fortran_parameters(routine: Routine) -> tuple[list[str], bool]:
    """Return the names of a Fortran entry's addresses without the error, and whether it has an error."""
    if routine.kind == "begin":
        names = [one.name for one in routine.arguments if one.name not in ("argc", "argv")]
    else:
        names = [one.name for one in routine.arguments if one.name]
    return [f"{name}_f" for name in names], routine.returns == "int" and routine.kind != "control"


def fortran_entry(routine: Routine) -> str:
    """Return the entries that Fortran programs call: one that counts, and those that only record the caller."""
    template, language = KINDS[routine.kind], Fortran(routine)
    names, has_error = fortran_parameters(routine)
    # Fortran passes the lengths of texts as hidden arguments.
    lengths = [f"length{i}" for i in range(sum("char" in one.type for one in routine.arguments))]
    parameters = [f"void* {name}" for name in names]
    parameters += ["MPI_Fint* error"] * has_error + [f"std::size_t {name}" for name in lengths]
    returns = "void" if routine.returns == "int" else routine.returns
    status = routine.first("MPI_Status")
    passed = [
        language.fill(template.passes) if template.passes and status and name == f"{status.name}_f" else name
        for name in names
    ]
    before, after = language.fill(template.before), language.fill(template.after)
    signature = f"{returns} (*)({', '.join(one.rsplit(' ', 1)[0] for one in parameters)})"
    call = f"reinterpret_cast<{signature}>(theirs)"
    arguments = ", ".join([*passed, *["&code"] * has_error, *lengths])
    lines = ["  MPI_Fint code = MPI_SUCCESS;"] if has_error else []
    if routine.kind not in LIFETIME:
        lines.append(f"  PlainCall call(routine::{routine.name}, caller);")
    if before:
        lines.append(language.values(before) + f"  {before}")
    keeps = f"const {returns} result = " if returns != "void" else ""
    lines.append(f"  {keeps}{call}({arguments});")
    ended = "call.ends(code)" if has_error else "call.ends()"
    if routine.kind in LIFETIME:
        ended = "code == MPI_SUCCESS" if has_error else "true"
    if after:
        lines.append(f"  if ({ended}) {{\n{language.values(after)}    {after}\n  }}")
    if has_error:
        lines.append("  if (error) *error = code;")
    if keeps:
        lines.append("  return result;")
    inner = ", ".join(["void* theirs", "[[maybe_unused]] const void* caller", *parameters])
    body = "\n".join(lines)
    declared = ", ".join(parameters)
    given = ", ".join([*names, *["error"] * has_error, *lengths])
    given = f", {given}" if given else ""
    base = routine.name.removesuffix("_c").lower()
    # The call site of cheap local calls is not worth another entry.
    form = "_LARGE" if routine.name.endswith("_c") else "_LOCAL" if routine.kind == "local" else ""
    return (
        f"[[gnu::noinline]] static {returns} fortran_{routine.name}({inner}) {{\n{body}\n}}\n"
        f"SCOPE_FORTRAN{form}({routine.name}, {base}, {base.upper()}, {returns}, ({declared}), "
        f"({given.removeprefix(', ')}), (theirs, SCOPE_CALLER{given}))\n"
    )


def main() -> None:
    """Write the four files."""
    table, header, folder = map(Path, sys.argv[1:])
    here = declared(header.read_text(errors="replace"))
    chosen = [one for one in routines(table.read_text()) if one.name in here]
    folder.mkdir(parents=True, exist_ok=True)
    in_c = [c_entry(one) for one in chosen if one.kind != BEHIND]
    in_fortran = [fortran_entry(one) for one in chosen if has_fortran(one)]
    files = {
        "routines.hpp": numbers(chosen),
        "next.hpp": pointers(chosen),
        "entries_c.cpp": "\n".join(['#include "entries.hpp"\n', *in_c]),
        "entries_fortran.cpp": "\n".join(['#include "entries_fortran.hpp"\n', *in_fortran]),
    }
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    main()
