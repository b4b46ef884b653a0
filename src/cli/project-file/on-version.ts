import { CONFIG_VERSION_HEADER } from '../../domain/audit.ts';

/**
 * The `fetch` of plan and apply. The answer with the project has the version of the config. Each change names the version
 * that it is made on, and its answer has the next one. So the service refuses a change if anything else has changed since.
 *
 * An update whose answer was lost is refused when it is sent again, because the first one raised the version. Then a new
 * plan shows what is left to do. A create has a key, and gets its answer again.
 */
export class OnVersion {
  /** Undefined: the project was not read yet. */
  version: string | undefined;

  readonly fetch: typeof fetch = (input, init) => this.#fetch(input, init, {});

  /** Its changes are checked and not made. */
  readonly dryRun: typeof fetch = (input, init) => this.#fetch(input, init, { 'x-posthorn-dry-run': 'true' });

  async #fetch(
    input: Parameters<typeof fetch>[0],
    init: RequestInit | undefined,
    ofChanges: Record<string, string>,
  ): Promise<Response> {
    const isRead = (init?.method ?? 'GET') === 'GET';
    const headers = new Headers(init?.headers);
    if (!isRead) for (const [name, value] of Object.entries(ofChanges)) headers.set(name, value);
    if (!isRead && this.version !== undefined) headers.set(CONFIG_VERSION_HEADER, this.version);
    const response = await fetch(input, { ...init, headers });
    const given = response.headers.get(CONFIG_VERSION_HEADER);
    // A later read would hide the change of another caller.
    if (given !== null && (!isRead || this.version === undefined)) this.version = given;
    return response;
  }
}
