import { type AddressRange, parseRange } from './ip-address.ts';

/** The special-purpose ranges of the address guard, each with the words of the error message. */

export interface NamedRange {
  readonly range: AddressRange;
  readonly reason: string;
}

export function requireRange(text: string): AddressRange {
  const range = parseRange(text);
  if (range === null) throw new TypeError(`not an address or CIDR: ${text}`);
  return range;
}

function ranges(table: Record<string, readonly string[]>): NamedRange[] {
  return Object.entries(table).flatMap(([reason, cidrs]) =>
    cidrs.map((text) => ({ range: requireRange(text), reason })),
  );
}

/**
 * Addresses at which a cloud serves credentials without authentication. Several lie outside link-local space,
 * so they are listed one by one: AWS (also container and pod identity), Azure, Alibaba, Google, Oracle,
 * Scaleway.
 */
export const METADATA_RANGES = ranges({
  'a cloud metadata address': [
    '169.254.169.254',
    '169.254.170.2',
    '169.254.170.23',
    '169.254.42.42',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:42::42',
  ],
});

export const LINK_LOCAL_RANGES = ranges({
  'a link-local address': ['169.254.0.0/16', 'fe80::/10', 'ff02::/16'],
});

export const NOT_PUBLIC_RANGES = ranges({
  'an unspecified address': ['0.0.0.0/8', '::/128'],
  'a loopback address': ['127.0.0.0/8', '::1/128'],
  'a private address': ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
  'a shared (carrier NAT) address': ['100.64.0.0/10'],
  'a site-local address': ['fec0::/10'],
  'a documentation address': [
    '192.0.2.0/24',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '2001:db8::/32',
    '3fff::/20',
  ],
  'a benchmark address': ['198.18.0.0/15', '2001:2::/48'],
  'a discard-only address': ['100::/64'],
  'a multicast address': ['224.0.0.0/4', 'ff00::/8'],
  'a broadcast address': ['255.255.255.255/32'],
  'a Teredo address': ['2001::/32'],
  'a 6to4 address': ['2002::/16', '192.88.99.0/24'],
  'a local NAT64 address': ['64:ff9b:1::/48'],
  'an IPv4-compatible address': ['::/96'],
  'a reserved address': ['192.0.0.0/24', '240.0.0.0/4', '2001::/23'],
});

/** The range of all public IPv6 hosts. An address outside it that embeds no IPv4 address is not public. */
export const GLOBAL_UNICAST_V6 = requireRange('2000::/3');
