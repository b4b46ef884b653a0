/** A node starts no send unless its last confirmed heartbeat is younger than this. */
export const FRESH_SECONDS = 8;

/** A node that is silent for this long loses the rows it leases. */
export const SILENT_SECONDS = 10;
