import type { ProjectConfig } from '../../domain/config/project-config.ts';
import { isReceiver } from '../../domain/delivery.ts';
import type { SendContext } from '../http/context.ts';

/**
 * The handshake of CloudEvents' webhooks, as the sender: a project with a `webhook_origin` asks each new address for its consent
 * before anything is sent there. The answer may limit the rate.
 */
export type Consent = { isGiven: true; perMinute: number | null } | { isGiven: false; problem: string };

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 1_024;
/** The rate of an endpoint has no more. */
const MOST_PER_MINUTE = 1_000_000;
const FREE: Consent = { isGiven: true, perMinute: null };

/** Asks for a call with many events: each URL once, and few of them. Undefined: too many. */
export class ConsentAsks {
  readonly #most: number;
  readonly #asked = new Map<string, Promise<Consent>>();

  constructor(most: number) {
    this.#most = most;
  }

  ask(context: Pick<SendContext, 'http'>, config: ProjectConfig, url: string): Promise<Consent> | undefined {
    const known = this.#asked.get(url);
    if (known !== undefined) return known;
    if (config.webhook_origin === '') return Promise.resolve(FREE);
    if (this.#asked.size >= this.#most) return undefined;
    const asked = askConsent(context, config, url);
    this.#asked.set(url, asked);
    return asked;
  }
}

export async function askConsent(
  { http }: Pick<SendContext, 'http'>,
  { webhook_origin: origin }: ProjectConfig,
  url: string,
): Promise<Consent> {
  if (origin === '' || url === '' || isReceiver(url)) return FREE;
  const outcome = await http.send({
    url,
    method: 'OPTIONS',
    headers: [['WebHook-Request-Origin', origin]],
    body: Buffer.alloc(0),
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  const refused = (why: string): Consent => ({
    isGiven: false,
    problem: `must allow webhooks of ${origin}: ${why}`,
  });
  if (outcome.kind === 'error') return refused(`OPTIONS failed, ${outcome.message}`);
  const of = (name: string) => outcome.headers[name]?.[0]?.trim() ?? '';
  const allowed = of('webhook-allowed-origin');
  if (outcome.status < 200 || outcome.status > 299)
    return refused(`OPTIONS was answered with ${outcome.status}`);
  if (allowed === '') return refused('the answer to OPTIONS has no WebHook-Allowed-Origin');
  if (allowed !== '*' && allowed.toLowerCase() !== origin.toLowerCase())
    return refused('the answer to OPTIONS allows another origin');
  const rate = Number(of('webhook-allowed-rate'));
  return Number.isInteger(rate) && rate > 0
    ? { isGiven: true, perMinute: Math.min(rate, MOST_PER_MINUTE) }
    : FREE;
}
