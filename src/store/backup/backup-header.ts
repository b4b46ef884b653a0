import type { Partition } from '../upkeep/partitions.ts';

/*
 * A backup is a gzip file of lines:
 *   {"posthorn_backup": 1, ...}                      the header
 *   {"table": "events", "columns": [...]}            for each table
 *   rows in COPY's text format, one per line
 *   \.
 *   {"rows": {"events": 1, ...}, "sha256": "..."}    the trailer, with the hash of every byte before it
 *
 * The text is readable by any PostgreSQL version. It does not contain the table definitions: the migrations
 * that the header names create them. COPY writes a line break within a value as \n and a backslash as \\, so
 * a row is one line and none of them is `\.`.
 */
export const FORMAT = 1;
export const END_OF_TABLE = '\\.\n';

export interface BackupHeader {
  readonly posthorn_backup: number;
  /** The version of the Posthorn that wrote it. */
  readonly version: string;
  readonly created_at: string;
  readonly postgres: string;
  /** The applied migrations. */
  readonly schema: readonly string[];
  readonly partitions: readonly Partition[];
  /** Fingerprint of the secret key that seals its secrets. */
  readonly key_fingerprint: string;
  /** Files of the data directory by name, if requested. */
  readonly files: Readonly<Record<string, string>>;
}

export interface TableLine {
  readonly table: string;
  readonly columns: readonly string[];
}

export interface BackupTrailer {
  readonly rows: Readonly<Record<string, number>>;
  readonly sha256: string;
}
