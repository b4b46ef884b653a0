/** A node starts no send unless its last confirmed beat is younger than this. */
export const FRESH_SECONDS = 8;

/** A node that has been silent for this long loses what it holds. */
export const SILENT_SECONDS = 10;
