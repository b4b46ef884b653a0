/**
 * The rows of a CSV text (RFC 4180). Fields are separated by commas. A field with commas, quotes or line
 * breaks is quoted, and quotes inside it are doubled. Lines end in LF or CRLF. Empty lines are skipped, so
 * each row has its line number. Returns null if a quote never ends.
 */
export interface CsvRow {
  line: number;
  cells: string[];
}

export function parseCsv(text: string): CsvRow[] | null {
  const rows: CsvRow[] = [];
  let line = 1;
  let next = 1;
  let row: string[] = [];
  // A field and its terminator. The quoted form comes first, so a quote in the middle of a bare field is just
  // text.
  const field = /(?:"((?:[^"]|"")*)"[ \t]*|([^,\r\n]*))(,|\r?\n|\r|$)/gy;
  const source = text.replace(/^\ufeff/, '');
  while (field.lastIndex < source.length || row.length > 0) {
    const match = field.exec(source);
    if (match === null) return null;
    const [, quoted, bare = '', end] = match;
    if (quoted === undefined && bare.trimStart().startsWith('"')) return null;
    row.push(quoted === undefined ? bare.trim() : quoted.replaceAll('""', '"'));
    next += match[0].match(/\r?\n|\r/g)?.length ?? 0;
    if (end === ',') continue;
    if (row.length > 1 || row[0] !== '') rows.push({ line, cells: row });
    row = [];
    line = next;
  }
  return rows;
}
