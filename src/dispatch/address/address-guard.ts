import {
  GLOBAL_UNICAST_V6,
  LINK_LOCAL_RANGES,
  METADATA_RANGES,
  type NamedRange,
  NOT_PUBLIC_RANGES,
} from './address-ranges.ts';
import { type Cidr, cidrContains, parseCidr, parseIp } from './ip-address.ts';

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
  readonly #allow: readonly Cidr[];
  readonly #deny: readonly Cidr[];

  constructor(rules: AddressRules) {
    this.#publicOnly = rules.egress === 'public';
    this.#allow = (rules.allow ?? []).map(requireCidr);
    this.#deny = (rules.deny ?? []).map(requireCidr);
  }

  verdict(ip: string): Verdict {
    const bytes = parseIp(ip);
    if (bytes === null) return blocked(`${ip} is not an IP address`);
    const reason = this.#reasonAgainst(bytes);
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

  #reasonAgainst(bytes: Uint8Array): string | null {
    const own = this.#reasonAgainstExact(bytes);
    if (own !== null) return own;
    for (const embedded of embeddedV4(bytes)) {
      const reason = this.#reasonAgainstExact(embedded);
      if (reason !== null) return `an IPv6 form of ${embedded.join('.')}, ${reason}`;
    }
    return null;
  }

  #reasonAgainstExact(bytes: Uint8Array): string | null {
    if (this.#deny.some((cidr) => cidrContains(cidr, bytes))) return 'not allowed by POSTHORN_EGRESS_DENY';
    const allowing = this.#allow.filter((cidr) => cidrContains(cidr, bytes));
    const metadata = reasonIn(METADATA_RANGES, bytes);
    if (metadata !== null)
      return allowing.some((cidr) => cidr.prefixBits === bytes.length * 8)
        ? null
        : `${metadata}, allowed only where POSTHORN_EGRESS_ALLOW names this exact address`;
    if (allowing.length > 0) return null;
    const linkLocal = reasonIn(LINK_LOCAL_RANGES, bytes);
    if (linkLocal !== null) return `${linkLocal}, allowed only where POSTHORN_EGRESS_ALLOW has its range`;
    if (!this.#publicOnly) return null;
    const notPublic = reasonIn(NOT_PUBLIC_RANGES, bytes) ?? notGlobal(bytes);
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

function requireCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === null) throw new TypeError(`not an address or CIDR: ${text}`);
  return cidr;
}

function reasonIn(ranges: readonly NamedRange[], bytes: Uint8Array): string | null {
  return ranges.find((range) => cidrContains(range.cidr, bytes))?.reason ?? null;
}

/** v4-mapped and NAT64 forms lie outside 2000::/3 and are judged by the IPv4 address in them alone. */
function notGlobal(bytes: Uint8Array): string | null {
  if (bytes.length === 4 || cidrContains(GLOBAL_UNICAST_V6, bytes)) return null;
  return cidrContains(V4_MAPPED, bytes) || cidrContains(NAT64, bytes) ? null : 'not a public address';
}

const V4_MAPPED = requireCidr('::ffff:0:0/96');
const NAT64 = requireCidr('64:ff9b::/96');
const V4_COMPATIBLE = requireCidr('::/96');
const SIX_TO_FOUR = requireCidr('2002::/16');
const TEREDO = requireCidr('2001::/32');
const LOCAL_NAT64 = requireCidr('64:ff9b:1::/48');

function embeddedV4(bytes: Uint8Array): Uint8Array[] {
  if (bytes.length === 4) return [];
  const last = bytes.subarray(12);
  if (cidrContains(V4_MAPPED, bytes) || cidrContains(NAT64, bytes)) return [last];
  // :: and ::1 lie in the same range and are no IPv4 addresses.
  if (cidrContains(V4_COMPATIBLE, bytes)) return last[0] === 0 && last[1] === 0 ? [] : [last];
  if (cidrContains(SIX_TO_FOUR, bytes)) return [bytes.subarray(2, 6)];
  if (cidrContains(TEREDO, bytes)) return [bytes.subarray(4, 8), last.map((byte) => byte ^ 0xff)];
  // RFC 6052: the prefix may be 48, 56, 64 or 96 bits long, and byte 8 is skipped.
  if (cidrContains(LOCAL_NAT64, bytes))
    return [Uint8Array.of(bytes[6]!, bytes[7]!, bytes[9]!, bytes[10]!), bytes.slice(9, 13), last];
  const isatap = bytes[10] === 0x5e && bytes[11] === 0xfe && bytes[9] === 0 && (bytes[8]! & 0xfd) === 0;
  return isatap ? [last] : [];
}
