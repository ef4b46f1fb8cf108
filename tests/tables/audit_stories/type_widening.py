"""Types widened, by statement and by what is written."""

from __future__ import annotations

from tests.tables.audit_stories.statements import MAP, OPTIMIZE, create, drop_feature, restore, set_properties
from tests.tables.audit_stories.telling import story, with_settings, wrote

STORIES = {
    "types widened": story(
        create(
            "id int, a tinyint, f float, d decimal(5, 2), s struct<x: smallint>, l array<int>, m map<int, smallint>"
        ),
        "INSERT INTO {t} VALUES (1, 1, 1.5, 2.5, named_struct('x', 1), array(1), map(1, 1))",
        set_properties(enableTypeWidening="true"),
        "ALTER TABLE {t} ALTER COLUMN a TYPE smallint",
        "ALTER TABLE {t} ALTER COLUMN a TYPE int, f TYPE double, d TYPE decimal(10, 3), s.x TYPE int, "
        "l.element TYPE bigint, m.key TYPE bigint, m.value TYPE int",
        "ALTER TABLE {t} ALTER COLUMN s.x TYPE bigint",
        "INSERT INTO {t} VALUES (1, 1, 1.5, 2.5, named_struct('x', 1), array(1), map(1, 1))",
        with_settings(
            "INSERT INTO {t} SELECT 5000000000L, 1, 1.5, 2.5, named_struct('x', 1), array(1), map(1, 1)",
            spark__databricks__delta__schema__autoMerge__enabled="true",
        ),
        MAP,
        "ALTER TABLE {t} RENAME COLUMN a TO aa",
        "ALTER TABLE {t} RENAME COLUMN s.x TO y",
        "ALTER TABLE {t} ALTER COLUMN aa TYPE double",
        "ALTER TABLE {t} DROP COLUMN l",
        "DELETE FROM {t} WHERE id = 5000000000",
        set_properties(enableTypeWidening="false"),
        "INSERT INTO {t} (id) VALUES (3)",
        restore(1),
        restore(4),
        "ALTER TABLE {t} ALTER COLUMN s.x TYPE bigint",
        restore(10),
        restore(2),
        "ALTER TABLE {t} ALTER COLUMN a TYPE double",
        drop_feature("typeWidening"),
        "INSERT INTO {t} (id) VALUES (3)",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
        "ALTER TABLE {t} ALTER COLUMN id TYPE bigint",
        "CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1 AS id, 2 AS a",
    ),
    "types widened, overwritten and restored": story(
        create("id int, a smallint", enableTypeWidening="true"),
        "INSERT INTO {t} VALUES (1, 1), (2, 2)",
        "ALTER TABLE {t} ALTER COLUMN a TYPE int",
        "INSERT INTO {t} VALUES (3, 3)",
        wrote("SELECT 1 AS id, 'x' AS a", "overwrite", overwriteSchema="true"),
        wrote("SELECT 1 AS id, CAST(1 AS smallint) AS a", "overwrite", overwriteSchema="true"),
        wrote("SELECT 1L AS id, CAST(1 AS int) AS a", "append", mergeSchema="true"),
        wrote("SELECT 1 AS id, CAST(1 AS smallint) AS a", "overwrite", overwriteSchema="true"),
        restore(1),
        restore(3),
        restore(6),
        "ALTER TABLE {t} ALTER COLUMN a TYPE bigint",
        wrote("SELECT 1L AS id, 7L AS a, 1 AS c", "overwrite", mergeSchema="true"),
        OPTIMIZE,
        "REPLACE TABLE {t} USING delta TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported', "
        "'delta.enableTypeWidening' = 'true') AS SELECT 1 AS id, DATE'2019-01-01' AS a",
        "INSERT INTO {t} VALUES (1, DATE'2020-01-01')",
        "ALTER TABLE {t} ALTER COLUMN a TYPE timestamp_ntz",
        "INSERT INTO {t} VALUES (1, TIMESTAMP_NTZ'2020-01-01 12:00:00')",
        restore(15),
    ),
    "types widened in partitions and clusters": story(
        create("id int, p smallint", "PARTITIONED BY (p)", enableTypeWidening="true", checkpointInterval="1"),
        "INSERT INTO {t} VALUES (1, 1), (2, 2)",
        "ALTER TABLE {t} ALTER COLUMN p TYPE int",
        "INSERT INTO {t} VALUES (1, 100000)",
        "DELETE FROM {t} WHERE p = 1",
        OPTIMIZE,
        restore(1),
    ),
    "merge evolves schema": story(
        create("id bigint, v int", enableTypeWidening="true", columnMapping__mode="name"),
        "INSERT INTO {t} SELECT id, 1 FROM range(4)",
        with_settings(
            "MERGE INTO {t} t USING (SELECT id, 5000000000L AS v, named_struct('a', 1) AS s FROM range(2, 6)) s "
            "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            spark__databricks__delta__schema__autoMerge__enabled="true",
        ),
        "MERGE WITH SCHEMA EVOLUTION INTO {t} t USING (SELECT id, named_struct('a', 5000000000L, 'b', 2) AS s, "
        "'x' AS n FROM range(2, 6)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        restore(2),
    ),
}
