/** The API operations that a test run has called, with success and with failure, from its recorded calls. */
interface OpenApi {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
}

/** `METHOD path status`, without ids, so that a run has few different lines. */
export function callLine(method: string, url: string, status: number): string {
  const { pathname } = new URL(url);
  return `${method} ${pathname.replaceAll(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, '-')} ${status}\n`;
}

/** It takes nothing, is open to everybody and reads nothing but the configuration. */
const CANNOT_FAIL = 'GET /auth/providers';

/** The operations without a successful call or without a failed one. */
export function missingOperations(document: OpenApi, lines: Iterable<string>): string[] {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}/?$`),
      parameters: path.split('{').length,
      success: Object.keys(responses)
        .filter((code) => code !== 'default')
        .map(Number),
      succeeded: false,
      failed: false,
    })),
  );
  // A path without parameters goes before one with them.
  operations.sort((a, b) => a.parameters - b.parameters);
  for (const line of new Set(lines)) {
    const [method, path = '', code] = line.trim().split(' ');
    const operation = operations.find((each) => each.method === method && each.pattern.test(path));
    if (operation === undefined) continue;
    if (operation.success.includes(Number(code))) operation.succeeded = true;
    if (Number(code) >= 400) operation.failed = true;
  }
  return operations
    .flatMap(({ name, succeeded, failed }) => [
      ...(succeeded ? [] : [`${name}: no success`]),
      ...(failed || name === CANNOT_FAIL ? [] : [`${name}: no failure`]),
    ])
    .sort();
}
