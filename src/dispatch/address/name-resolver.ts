import { promises as dns } from 'node:dns';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { stoodStillMs } from '../../platform/time/patient-timer.ts';
import { isLocalhost } from './address-guard.ts';
import { HostsFile } from './hosts-file.ts';
import { ResolverHealth } from './resolver-health.ts';

/**
 * Resolves names through c-ares instead of `dns.lookup`, which has four threads: a few slow names would stall
 * every connect of the process.
 *
 * Order: an address is itself; `localhost` is loopback (RFC 6761); the hosts file; then DNS. A name with a
 * dot is queried as it is and, if it does not exist, with the search domains of resolv.conf. A name without a
 * dot is queried in the opposite order. Answers are cached by their TTL, clamped to 1..60 s, failures for 1 s
 * and absent names for 5 s, at most 10,000 names. Concurrent lookups of one name share one query. While DNS
 * fails, an answer that expired up to 10 minutes ago is used again. The address guard checks it like any
 * other.
 */

export type Resolution =
  | { kind: 'addresses'; addresses: readonly string[] }
  | { kind: 'not_found' }
  | { kind: 'failed'; reason: string; ours: boolean };

interface CacheEntry {
  resolution: Resolution;
  /** After this the name is queried again. */
  expiresAt: number;
  /** Until then the answer may be used while DNS fails. */
  usableUntil: number;
}

const MAX_NAMES = 10_000;
const MIN_TTL_MS = 1_000;
const MAX_TTL_MS = 60_000;
const NOT_FOUND_MS = 5_000;
const FAILED_MS = 1_000;
const STALE_MS = 600_000;
const STALE_RECHECK_MS = 10_000;
const QUERY_TIMEOUT_MS = 1_500;
const RENEW_MS = 5_000;
const SLOW_QUERY_MS = 500;
/** How long a slow AAAA (or A) query may delay the other family's answer (RFC 8305, section 3). */
const SECOND_FAMILY_MS = 50;

export interface NameResolverOptions {
  nameServers?: readonly string[];
  hostsPath?: string;
  queryTimeoutMs?: number;
}

export class NameResolver {
  readonly health: ResolverHealth;
  #dns: dns.Resolver;
  #renewedAt = performance.now();
  readonly #newDns: () => dns.Resolver;
  readonly #hosts: HostsFile;
  readonly #searchDomains: readonly string[];
  readonly #cache = new BoundedMap<string, CacheEntry>(MAX_NAMES);
  readonly #pending = new Map<string, Promise<Resolution>>();
  #closed = false;

  constructor(options: NameResolverOptions = {}) {
    const timeout = options.queryTimeoutMs ?? QUERY_TIMEOUT_MS;
    this.#newDns = () => {
      const made = new dns.Resolver({ timeout, maxTimeout: timeout, tries: 2 });
      if (options.nameServers !== undefined) made.setServers(options.nameServers);
      return made;
    };
    this.#dns = this.#newDns();
    this.health = new ResolverHealth(this.#newDns);
    this.#searchDomains = options.nameServers === undefined ? readSearchDomains() : [];
    this.#hosts = new HostsFile(options.hostsPath);
  }

  async resolve(host: string): Promise<Resolution> {
    if (isIP(host) !== 0) return { kind: 'addresses', addresses: [host] };
    if (isLocalhost(host)) return { kind: 'addresses', addresses: ['127.0.0.1', '::1'] };
    const entry = this.#cache.get(host);
    if (entry !== undefined && entry.expiresAt > performance.now()) return entry.resolution;
    let pending = this.#pending.get(host);
    if (pending === undefined) {
      pending = this.#refresh(host, entry).finally(() => this.#pending.delete(host));
      this.#pending.set(host, pending);
    }
    return pending;
  }

  /** Cancels the running queries, which fail, and starts no more. */
  close(): void {
    this.#closed = true;
    this.#dns.cancel();
    this.health.close();
  }

  async #refresh(host: string, previous: CacheEntry | undefined): Promise<Resolution> {
    const fromFile = await this.#hosts.addressesOf(host);
    const answer: Answer =
      fromFile.length > 0
        ? { kind: 'addresses', addresses: fromFile, ttlMs: MIN_TTL_MS }
        : await this.#queryAndWatch(host);
    const now = performance.now();
    if (answer.kind === 'failed') return this.#afterFailure(host, answer.reason, previous);
    if (fromFile.length === 0) this.health.recordAnswer();
    if (answer.kind === 'not_found') return this.#keep(host, { kind: 'not_found' }, now + NOT_FOUND_MS);
    const { addresses, ttlMs } = answer;
    return this.#keep(host, { kind: 'addresses', addresses }, now + ttlMs);
  }

  async #afterFailure(host: string, reason: string, previous: CacheEntry | undefined): Promise<Resolution> {
    if (this.#closed) return { kind: 'failed', reason, ours: true };
    const now = performance.now();
    if (previous !== undefined && previous.usableUntil > now) {
      // A new query would cost every new connection the full query timeout, so wait before the next one.
      previous.expiresAt = now + STALE_RECHECK_MS;
      return previous.resolution;
    }
    const ours = await this.health.checkAfterFailureOf(host);
    if (ours) this.#renew();
    return this.#keep(host, { kind: 'failed', reason, ours }, performance.now() + FAILED_MS);
  }

  /** c-ares reads the system's name servers once. A machine that changed networks has others by now. */
  #renew(): void {
    if (performance.now() - this.#renewedAt < RENEW_MS) return;
    this.#renewedAt = performance.now();
    this.#dns.cancel();
    this.#dns = this.#newDns();
  }

  #keep(host: string, resolution: Resolution, expiresAt: number): Resolution {
    const usableUntil = resolution.kind === 'addresses' ? expiresAt + STALE_MS : 0;
    this.#cache.set(host, { resolution, expiresAt, usableUntil });
    return resolution;
  }

  /**
   * During a slow query the resolver is checked in parallel, so that the verdict is ready when the request
   * times out.
   */
  async #queryAndWatch(host: string): Promise<Answer> {
    const watch = setTimeout(() => void this.health.checkAfterFailureOf(host), SLOW_QUERY_MS);
    const stoodStillBeforeMs = stoodStillMs();
    try {
      const answer = await this.#query(host);
      // c-ares checks its timeouts before it reads its sockets. After a stall of this process an answer may
      // wait there unread, so the query is repeated.
      const isDoubtful = answer.kind === 'failed' && stoodStillMs() > stoodStillBeforeMs;
      return isDoubtful ? await this.#query(host) : answer;
    } finally {
      clearTimeout(watch);
    }
  }

  async #query(host: string): Promise<Answer> {
    const suffixed = this.#searchDomains.map((domain) => `${host}.${domain}`);
    const names = host.includes('.') ? [host, ...suffixed] : [...suffixed, host];
    let answer: Answer = { kind: 'not_found' };
    for (const name of names) {
      answer = await this.#queryBothFamilies(name);
      if (answer.kind !== 'not_found') return answer;
    }
    return answer;
  }

  async #queryBothFamilies(name: string): Promise<Answer> {
    const v4 = this.#dns.resolve4(name, { ttl: true }).then(positive, negative);
    const v6 = this.#dns.resolve6(name, { ttl: true }).then(positive, negative);
    const first = await Promise.race([v4, v6]);
    if (first.kind !== 'addresses') return merge(await v4, await v6);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Answer>((resolve) => {
      timer = setTimeout(resolve, SECOND_FAMILY_MS, { kind: 'not_found' });
    });
    const answers = await Promise.all([Promise.race([v4, late]), Promise.race([v6, late])]);
    clearTimeout(timer);
    return merge(...answers);
  }
}

type Answer =
  | { kind: 'addresses'; addresses: readonly string[]; ttlMs: number }
  | { kind: 'not_found' }
  | { kind: 'failed'; reason: string };

function positive(records: readonly { address: string; ttl: number }[]): Answer {
  if (records.length === 0) return { kind: 'not_found' };
  const ttlMs = Math.min(...records.map((record) => record.ttl)) * 1_000;
  return {
    kind: 'addresses',
    addresses: records.map((record) => record.address),
    ttlMs: Math.min(Math.max(ttlMs, MIN_TTL_MS), MAX_TTL_MS),
  };
}

function negative(error: NodeJS.ErrnoException): Answer {
  switch (error.code ?? '') {
    case 'ENOTFOUND':
    case 'ENODATA':
    // The name is invalid in DNS (a label over 63 bytes, an empty label).
    case 'EBADNAME':
      return { kind: 'not_found' };
    case 'ETIMEOUT':
      return { kind: 'failed', reason: 'the name servers did not answer' };
    case 'ESERVFAIL':
      return { kind: 'failed', reason: 'the name server reported a failure' };
    case 'EREFUSED':
    case 'ECONNREFUSED':
      return { kind: 'failed', reason: 'the name server refused the query' };
    default:
      return { kind: 'failed', reason: `the query failed (${error.code ?? error.message})` };
  }
}

/** IPv4 first, because allow lists of receivers name our IPv4 address and a host without IPv6 pays nothing. */
function merge(v4: Answer, v6: Answer): Answer {
  if (v4.kind === 'addresses' && v6.kind === 'addresses')
    return {
      kind: 'addresses',
      addresses: [...v4.addresses, ...v6.addresses],
      ttlMs: Math.min(v4.ttlMs, v6.ttlMs),
    };
  if (v4.kind === 'addresses') return v4;
  if (v6.kind === 'addresses') return v6;
  return v4.kind === 'failed' ? v4 : v6;
}

function readSearchDomains(): string[] {
  let text: string;
  try {
    text = readFileSync('/etc/resolv.conf', 'utf8');
  } catch {
    return [];
  }
  const lines = text.split('\n').filter((line) => /^\s*(search|domain)\s/.test(line));
  const last = lines.at(-1)?.trim().split(/\s+/).slice(1) ?? [];
  return last.map((domain) => domain.replace(/\.$/, '')).filter((domain) => domain !== '');
}
