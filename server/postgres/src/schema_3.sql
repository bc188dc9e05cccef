-- Version 3: tables say which programs may use them. This file never changes.
-- version: from here on the oldest program that may use these tables; a program of version 2 takes only 2 there. expanded: the version that
-- they have. A step that only adds leaves version as it is, so that programs of both versions use the tables at a time.
ALTER TABLE node ADD COLUMN expanded bigint;
