const MAX_HEADER_BYTES = 16_384;
const MAX_HEADER_PAIRS = 256;

/** Every header as a list, or null when there are too many. */
export function headerLists(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string[]> | null {
  const lists: Record<string, string[]> = {};
  let pairs = 0;
  let bytes = 0;
  for (const name in headers) {
    const value = headers[name];
    // HTTP/2 puts `:status` and Node's symbols among the headers.
    if (value === undefined || name.startsWith(':')) continue;
    const list = Array.isArray(value) ? value : [value];
    pairs += list.length;
    for (const item of list) bytes += name.length + item.length;
    if (name === '__proto__') continue;
    lists[name] = list;
  }
  return pairs > MAX_HEADER_PAIRS || bytes > MAX_HEADER_BYTES ? null : lists;
}
