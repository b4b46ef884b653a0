import { BlockList, isIP } from 'node:net';

/** Without the zone id (`%eth0`). Null for a text that is no IP address. */
export function parseIp(text: string): string | null {
  const [address = ''] = text.split('%', 1);
  return isIP(address) === 0 ? null : address;
}

/** The 16 bytes of an IPv6 address. */
export function bytesOfV6(address: string): Uint8Array {
  const bytes = new Uint8Array(16);
  const [head = '', tail = ''] = address.split('::');
  bytes.set(groupBytes(head), 0);
  const tailBytes = groupBytes(tail);
  bytes.set(tailBytes, 16 - tailBytes.length);
  return bytes;
}

function groupBytes(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

export class AddressRange {
  readonly #addresses = new BlockList();
  readonly #version: number;
  readonly isSingle: boolean;

  constructor(address: string, prefixBits: number) {
    this.#version = isIP(address);
    this.#addresses.addSubnet(address, prefixBits, familyOf(this.#version));
    this.isSingle = prefixBits === bitsOf(this.#version);
  }

  /** An IPv4 range has no IPv6 address, not even one that embeds an address of it. */
  contains(address: string): boolean {
    return isIP(address) === this.#version && this.#addresses.check(address, familyOf(this.#version));
  }
}

const familyOf = (version: number) => (version === 4 ? 'ipv4' : 'ipv6');
const bitsOf = (version: number) => (version === 4 ? 32 : 128);

/** `10.0.0.0/8`, or a single address without a slash; null if it is neither. */
export function parseRange(text: string): AddressRange | null {
  const [given = '', prefix, ...rest] = text.trim().split('/');
  const address = parseIp(given);
  if (address === null || rest.length > 0) return null;
  const most = bitsOf(isIP(address));
  if (prefix === undefined) return new AddressRange(address, most);
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= most
    ? new AddressRange(address, Number(prefix))
    : null;
}
