/**
 * The contract that the function of a subscription asks for. With `export const version = 2` as its first statement it
 * gets a second argument and returns a request: body, headers, path and query, or a reason to cancel. Without it, or
 * with version 1, it returns the body. In code of the first contract `export` is a syntax error, so no function that
 * was saved before changes its meaning.
 *
 * The pattern is linear in the text: no two of its parts match the same character, comments included.
 */
const FIRST_STATEMENT =
  /^((?:\s|\/\/[^\n]*\n|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/)*)export\s+const\s+version\s*=\s*(\d{1,9})[ \t]*(?:;|\r?\n|$)/;

export type FunctionContract =
  /** `script` is the code without the word `export`, with every line and column where it was. */
  { ok: true; version: 1 | 2; script: string } | { ok: false; message: string };

export function functionContract(code: string): FunctionContract {
  const found = FIRST_STATEMENT.exec(code);
  if (found === null) return { ok: true, version: 1, script: code };
  const [, before = '', version = ''] = found;
  if (version !== '1' && version !== '2')
    return { ok: false, message: `version ${version} is not known; 1 and 2 are` };
  const script = `${before}${' '.repeat('export'.length)}${code.slice(before.length + 'export'.length)}`;
  return { ok: true, version: version === '1' ? 1 : 2, script };
}

/** Whether a function reads the variables of its project: one that no portal link wrote, of the second contract. */
export function seesVariables(of: { function: string; is_portal_function: boolean }): boolean {
  const contract = functionContract(of.function);
  return !of.is_portal_function && contract.ok && contract.version === 2;
}
