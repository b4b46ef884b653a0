const parameter = /[ \t]*;[ \t]*(?:([!#$%&'*+.^_`|~\w-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*)))?/sy;

interface ParameterizedHeader {
  /** In lower case, without parameters: `multipart/form-data`, `form-data`. */
  value: string;
  /** Names in lower case, quotes and escapes decoded. */
  parameters: ReadonlyMap<string, string>;
}

/**
 * Parses `value; name=text; name="quoted text"`. Null if the text has a remainder or a name twice, because
 * two parsers could then disagree about which one counts.
 */
export function parseParameterizedHeader(text: string): ParameterizedHeader | null {
  const header = text.trimEnd();
  const end = header.indexOf(';');
  const value = (end === -1 ? header : header.slice(0, end)).trim().toLowerCase();
  const parameters = new Map<string, string>();
  let position = end === -1 ? header.length : end;
  while (position < header.length) {
    parameter.lastIndex = position;
    const match = parameter.exec(header);
    if (match === null) return null;
    position = parameter.lastIndex;
    const [, name, quoted, plain] = match;
    if (name === undefined) continue;
    if (parameters.has(name.toLowerCase())) return null;
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/gs, '$1') ?? plain ?? '');
  }
  return { value, parameters };
}
