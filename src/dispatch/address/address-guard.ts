import { isIPv4 } from 'node:net';
import {
  GLOBAL_UNICAST_V6,
  LINK_LOCAL_RANGES,
  METADATA_RANGES,
  type NamedRange,
  NOT_PUBLIC_RANGES,
  requireRange,
} from './address-ranges.ts';
import { type AddressRange, bytesOfV6, parseIp } from './ip-address.ts';

/**
 * Decides which addresses we may connect to. In order, for the address and for every IPv4 address embedded in
 * it (v4-mapped, v4-compatible, NAT64, 6to4, Teredo, ISATAP):
 * 1. The deny list blocks.
 * 2. A cloud metadata address is blocked unless the allow list names that exact address. A wider range does
 *    not open it.
 * 3. The allow list allows.
 * 4. Link-local is blocked. With `public`, everything that is not a public unicast address is blocked too.
 *
 * One blocked part blocks the whole address, because the packet may be translated on its way.
 */

export type Verdict = { allowed: true } | { allowed: false; reason: string };

export interface AddressRules {
  egress: 'any' | 'public';
  allow?: readonly string[];
  deny?: readonly string[];
}

/** Reasons name the setting that would change the verdict. */
const PUBLIC_RULE = 'POSTHORN_EGRESS=public';

const ALLOWED: Verdict = { allowed: true };
const blocked = (reason: string): Verdict => ({ allowed: false, reason });

export class AddressGuard {
  readonly #publicOnly: boolean;
  readonly #allow: readonly AddressRange[];
  readonly #deny: readonly AddressRange[];

  constructor(rules: AddressRules) {
    this.#publicOnly = rules.egress === 'public';
    this.#allow = (rules.allow ?? []).map(requireRange);
    this.#deny = (rules.deny ?? []).map(requireRange);
  }

  verdict(ip: string): Verdict {
    const address = parseIp(ip);
    if (address === null) return blocked(`${ip} is not an IP address`);
    const reason = this.#reasonAgainst(address);
    return reason === null ? ALLOWED : blocked(`${ip} is ${reason}`);
  }

  /** The verdict on a URL without resolving its name, for the moment of writing it. */
  checkUrl(input: URL | string): Verdict {
    const url = typeof input === 'string' ? URL.parse(input) : input;
    if (url === null) return blocked('the URL cannot be parsed');
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      return blocked('the URL must start with http:// or https://');
    // URLs are shown and stored in clear with every attempt. A password belongs in the sealed settings.
    if (url.username !== '' || url.password !== '')
      return blocked('the URL must not contain a user name or password; use basic authentication instead');
    if (url.port === '0') return blocked('port 0 cannot be connected to');
    const host = hostOf(url);
    if (parseIp(host) !== null) return this.verdict(host);
    if (!isHostName(host)) return blocked('the URL has no usable host name');
    return isLocalhost(host) ? this.#localhostVerdict(host) : ALLOWED;
  }

  #localhostVerdict(host: string): Verdict {
    if (this.verdict('127.0.0.1').allowed || this.verdict('::1').allowed) return ALLOWED;
    return blocked(`${host} is a loopback name, not allowed by ${PUBLIC_RULE}`);
  }

  #reasonAgainst(address: string): string | null {
    const own = this.#reasonAgainstExact(address);
    if (own !== null) return own;
    for (const bytes of embeddedV4(address)) {
      const embedded = bytes.join('.');
      const reason = this.#reasonAgainstExact(embedded);
      if (reason !== null) return `an IPv6 form of ${embedded}, ${reason}`;
    }
    return null;
  }

  #reasonAgainstExact(address: string): string | null {
    if (this.#deny.some((range) => range.contains(address))) return 'not allowed by POSTHORN_EGRESS_DENY';
    const allowing = this.#allow.filter((range) => range.contains(address));
    const metadata = reasonIn(METADATA_RANGES, address);
    if (metadata !== null)
      return allowing.some((range) => range.isSingle)
        ? null
        : `${metadata}, allowed only where POSTHORN_EGRESS_ALLOW names this exact address`;
    if (allowing.length > 0) return null;
    const linkLocal = reasonIn(LINK_LOCAL_RANGES, address);
    if (linkLocal !== null) return `${linkLocal}, allowed only where POSTHORN_EGRESS_ALLOW has its range`;
    if (!this.#publicOnly) return null;
    const notPublic = reasonIn(NOT_PUBLIC_RANGES, address) ?? notGlobal(address);
    return notPublic === null ? null : `${notPublic}, not allowed by ${PUBLIC_RULE}`;
  }
}

/** The host of a URL as a name or address: no brackets, no trailing dot. */
export function hostOf(url: URL): string {
  const host = url.hostname;
  if (host.startsWith('[')) return host.slice(1, -1);
  return host.endsWith('.') ? host.slice(0, -1) : host;
}

/** No label is empty (`127.0.0.1..`) or longer than DNS can hold. */
function isHostName(host: string): boolean {
  return host.length <= 253 && host.split('.').every((label) => label.length > 0 && label.length <= 63);
}

export function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

function reasonIn(ranges: readonly NamedRange[], address: string): string | null {
  return ranges.find(({ range }) => range.contains(address))?.reason ?? null;
}

/** v4-mapped and NAT64 forms lie outside 2000::/3 and are judged by the IPv4 address in them alone. */
function notGlobal(address: string): string | null {
  if (isIPv4(address) || GLOBAL_UNICAST_V6.contains(address)) return null;
  return V4_MAPPED.contains(address) || NAT64.contains(address) ? null : 'not a public address';
}

const V4_MAPPED = requireRange('::ffff:0:0/96');
const NAT64 = requireRange('64:ff9b::/96');
const V4_COMPATIBLE = requireRange('::/96');
const SIX_TO_FOUR = requireRange('2002::/16');
const TEREDO = requireRange('2001::/32');
const LOCAL_NAT64 = requireRange('64:ff9b:1::/48');

function embeddedV4(address: string): Uint8Array[] {
  if (isIPv4(address)) return [];
  const bytes = bytesOfV6(address);
  const last = bytes.subarray(12);
  if (V4_MAPPED.contains(address) || NAT64.contains(address)) return [last];
  // :: and ::1 lie in the same range and are no IPv4 addresses.
  if (V4_COMPATIBLE.contains(address)) return last[0] === 0 && last[1] === 0 ? [] : [last];
  if (SIX_TO_FOUR.contains(address)) return [bytes.subarray(2, 6)];
  if (TEREDO.contains(address)) return [bytes.subarray(4, 8), last.map((byte) => byte ^ 0xff)];
  // RFC 6052: the prefix may be 48, 56, 64 or 96 bits long, and byte 8 is skipped.
  if (LOCAL_NAT64.contains(address))
    return [Uint8Array.of(bytes[6]!, bytes[7]!, bytes[9]!, bytes[10]!), bytes.slice(9, 13), last];
  const isatap = bytes[10] === 0x5e && bytes[11] === 0xfe && bytes[9] === 0 && (bytes[8]! & 0xfd) === 0;
  return isatap ? [last] : [];
}
