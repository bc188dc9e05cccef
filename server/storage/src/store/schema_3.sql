-- Version 3: what it adds to version 2. This file never changes either.
-- When the store was restored from a backup, Unix seconds, and the number of the first seal after that. Nothing is updated or deleted.
CREATE TABLE restorations (time INTEGER PRIMARY KEY, first INTEGER NOT NULL) STRICT;
