"""The encoders agree: the same rows become the same bytes, and so the same ids, by Spark SQL, by Python and in jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aviso_spark.event_schema import EventSchema, FieldRules
from aviso_spark.expressions import Expressions
from aviso_spark.mapping import mapped
from pyspark_aviso.encode import Encoder
from pyspark_aviso.ids import record_id
from pyspark_aviso.sql_encoding import encode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VECTORS: Final = Path(__file__).parents[1] / "unit" / "spark" / "vectors.json"
TEXT_COLUMNS: Final = (
    "event_type string, identifier map<string,string>, payload string, geometry string, id string"
)

IDENTIFIER_AND_PAYLOAD: Final = "identifier map<string,string>, payload string"


def both(df: DataFrame, **more: Any) -> tuple[list[bytes | None], list[bytes | None]]:
    """Return the lines of both encoders; None is a row without one."""
    by_sql = [
        None if row.value is None else row.value.encode()
        for row in encode(df, event_type=more.get("event_type"), scope=more.get("scope", "")).collect()
    ]
    settings_of = {"event_type": None, "scope": "", "geometry_field": "polygon", **more}
    encoder = Encoder(df.columns, **settings_of)
    return by_sql, [line for batch in df.toArrow().to_batches() for line in encoder.encode(batch).data]


def test_ids_of_sql_are_those_of_the_examples(spark: SparkSession) -> None:
    """The same file that the Python ids are held to."""
    for vector in json.loads(VECTORS.read_text()):
        rows = [(vector["event_type"], vector["identifier"], vector["payload"] or None)]
        df = spark.createDataFrame(rows, "event_type string, identifier map<string,string>, payload string")

        (line,) = encode(df, scope=vector["scope"]).collect()

        assert json.loads(line.value)["id"] == vector["id"], vector["what"]


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
).map(lambda value: json.dumps(value, ensure_ascii=False, indent=1))
_rows = st.tuples(
    _texts.filter(bool),
    st.dictionaries(_texts.filter(lambda text: text != "polygon"), st.none() | _texts, max_size=3),
    st.none() | _json,
    st.none() | st.just('{"type":"Point","coordinates":[1.50,\n2e0]}'),
    st.none() | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=5),
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(_rows, min_size=1, max_size=40), _texts)
def test_both_encoders_write_the_same_bytes(spark: SparkSession, rows: list[Any], scope: str) -> None:
    """Letters, quotes, control characters, nulls, nested JSON on several lines, geometries and own ids."""
    by_sql, by_python = both(spark.createDataFrame(rows, TEXT_COLUMNS), scope=scope)

    assert by_sql == by_python
    assert None not in by_python


@pytest.mark.parametrize("kind", ["struct", "map", "array", "variant"])
def test_both_encoders_spell_nested_payloads_alike(spark: SparkSession, kind: str) -> None:
    """Integers, texts and nulls; of floating-point numbers they need not."""
    payload = {
        "struct": "struct('é\"' as text, cast(null as int) as none, 9007199254740993 as large, array(1, null) as list)",
        "map": "map('b', 1, 'a', null)",
        "array": "array(struct(true as yes), struct(false as yes))",
        "variant": """parse_json('{"b":[1,null,"é😀\\\\u0001"],"a":12345678901234567890123,"c":{}}')""",
    }[kind]
    df = spark.range(2).selectExpr("map('name', string(id)) as identifier", f"{payload} as payload")

    by_sql, by_python = both(df, event_type="t")

    assert by_sql == by_python
    assert len(by_sql) == 2


# Each is a payload, and its spelling; None is a fault of its row.
PAYLOADS: Final = json.loads((VECTORS.parent / "payload_vectors.json").read_text())


@pytest.mark.parametrize("vector", PAYLOADS, ids=[vector["what"] for vector in PAYLOADS])
def test_sink_sql_encoder_and_jobs_spell_payloads_alike(spark: SparkSession, vector: dict[str, Any]) -> None:
    """What one of them refuses all refuse, with the field at fault; whatever zone the session is in."""
    df = spark.range(1).selectExpr("map('name', 'a') as identifier", f"{vector['sql']} as payload")
    schema = EventSchema(event_type="t", fields=(FieldRules(name="name"),))
    given = Expressions(fields={"name": "'a'"}, payload=vector["sql"])
    spark.conf.set("spark.sql.session.timeZone", "America/Santiago")
    try:
        by_sql, by_python = both(df, event_type="t")
        (row,) = mapped(spark.range(1), schema, given).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")

    assert by_sql == by_python
    if vector["json"] is None:
        assert by_sql == [None]
        assert (row.refused.field, "JSON cannot say" in row.refused.error) == ("payload", True)
        with pytest.raises(ValueError, match="Expecting value"):
            json.loads(row.payload, parse_constant=no_json)
    else:
        assert (by_sql[0] or b"").decode().partition(',"payload":')[2] == vector["json"] + "}\n"
        assert (row.payload, row.refused) == (vector["json"], None)


def no_json(constant: str) -> None:
    """Refuse what Python's reader takes beside JSON."""
    raise ValueError(f"Expecting value, not {constant}")


def test_rows_that_differ_by_a_microsecond_have_different_ids(spark: SparkSession) -> None:
    """Those of a job are made of the payload as the job spells it."""
    rows = spark.sql(
        "SELECT timestamp'2030-01-01 00:00:00.123456' + make_dt_interval(0, 0, 0, id * 1e-6) AS t FROM range(2)"
    )
    schema = EventSchema(event_type="t", fields=(FieldRules(name="name"),))
    made = mapped(rows, schema, Expressions(fields={"name": "'a'"}, payload="struct(t)")).collect()

    assert len({record_id("", "t", row.identifier, row.payload.encode()) for row in made}) == 2


def test_both_encoders_spell_an_identifier_of_a_struct_and_times_alike(spark: SparkSession) -> None:
    """With what is null left out."""
    df = spark.range(2).selectExpr(
        "struct(id as step, date'2030-01-02' as day, id > 0 as good, if(id > 0, 'x', null) as class) as identifier",
        "timestamp'2030-01-02 03:04:05.000006' as time",
    )

    by_sql, by_python = both(df, event_type="t")

    assert by_sql == by_python
    assert b'"time":"2030-01-02T03:04:05.000006Z"' in (by_sql[0] or b"")


def test_times_do_not_go_by_the_clock_of_the_session(spark: SparkSession) -> None:
    """An hour in spring is missing on it; and what Python would not take is refused by both."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        df = spark.range(4).selectExpr(
            "map('name', 'a') as identifier",
            "if(id < 3, timestamp'2030-03-31 00:30:00Z' + id * interval 1 hour, null) as time",
        )
        by_sql, by_python = both(df, event_type="t")
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))
    assert by_sql == by_python
    for hour in range(3):
        assert b'"time":"2030-03-31T%02d:30:00.000000Z"' % hour in (by_sql[hour] or b"")
    with pytest.raises(ValueError, match="'geometry' is WKB"):
        encode(df.selectExpr("identifier", "X'00' as geometry"), event_type="t")
    with pytest.raises(ValueError, match="'id' is of type bigint"):
        encode(df.selectExpr("identifier", "1L as id"), event_type="t")


NO_JSON: Final = (
    *("{", "nul", "tru", "01", "+1", "1.", ".5", "0x1", "NaN", "1 2", "#\n1", "/**/1"),
    *("'a'", "{'a':1}", "{a:1}", '{"a":1,}', '{"a" 1}', "[1,]", "[1 2]"),
    *('"\\x"', '"\\ud8"', '"\t"', '"'),
    *('1,"id":"another"', '{},"id":"another"', '{}\n,"id":"another"'),
)
# Nothing, several values, and what ends the list early that a payload is looked at in.
TAKEN_BY_SPARK: Final = ("", " ", "1,2", "{}],[{}", '{}],"id":["another"', "{}]} {", "1]", '"a"]}', "]", "][")


def test_a_payload_that_is_no_json_has_no_line(spark: SparkSession) -> None:
    """And cannot become members of the record; the rows around it are as if it were not there."""
    rows = [({"name": "a"}, payload) for bad in NO_JSON for payload in (bad, "1")]
    df = spark.createDataFrame(rows, IDENTIFIER_AND_PAYLOAD).coalesce(1)

    by_sql, by_python = both(df, event_type="t")

    assert by_sql == by_python
    assert [line is None for line in by_sql] == [True, False] * len(NO_JSON)


def test_what_only_the_sql_parser_takes_makes_a_line_that_is_no_json(spark: SparkSession) -> None:
    """The service refuses such a line, and no other."""
    df = spark.createDataFrame(
        [({"name": "a"}, payload) for payload in TAKEN_BY_SPARK], IDENTIFIER_AND_PAYLOAD
    )

    by_sql, by_python = both(df, event_type="t")

    assert set(by_python) == {None}
    for line in by_sql:
        assert line is not None
        with pytest.raises(ValueError, match=r"Expecting|Extra data"):
            json.loads(line)
