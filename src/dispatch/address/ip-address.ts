import { isIP } from 'node:net';

/** The 4 or 16 bytes of an IP address in text form, or null for any other text. A zone id (`%eth0`) is dropped. */
export function parseIp(text: string): Uint8Array | null {
  const percent = text.indexOf('%');
  const bare = percent === -1 ? text : text.slice(0, percent);
  switch (isIP(bare)) {
    case 4:
      return Uint8Array.from(bare.split('.'), Number);
    case 6:
      return parseV6(bare);
    default:
      return null;
  }
}

function parseV6(text: string): Uint8Array {
  const bytes = new Uint8Array(16);
  const [head = '', tail] = text.split('::');
  const headBytes = groupBytes(head);
  bytes.set(headBytes, 0);
  if (tail !== undefined) {
    const tailBytes = groupBytes(tail);
    bytes.set(tailBytes, 16 - tailBytes.length);
  }
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

export interface Cidr {
  readonly bytes: Uint8Array;
  readonly prefixBits: number;
}

/** `10.0.0.0/8`, or a single address without a slash; null if it is neither. */
export function parseCidr(text: string): Cidr | null {
  const [address = '', prefix, ...rest] = text.trim().split('/');
  const bytes = parseIp(address);
  if (bytes === null || rest.length > 0) return null;
  const maxBits = bytes.length * 8;
  if (prefix === undefined) return { bytes, prefixBits: maxBits };
  if (!/^\d{1,3}$/.test(prefix)) return null;
  const prefixBits = Number(prefix);
  return prefixBits <= maxBits ? { bytes, prefixBits } : null;
}

export function cidrContains(cidr: Cidr, address: Uint8Array): boolean {
  if (cidr.bytes.length !== address.length) return false;
  const wholeBytes = cidr.prefixBits >> 3;
  for (let i = 0; i < wholeBytes; i++) if (cidr.bytes[i] !== address[i]) return false;
  const restBits = cidr.prefixBits & 7;
  if (restBits === 0) return true;
  const shift = 8 - restBits;
  return cidr.bytes[wholeBytes]! >> shift === address[wholeBytes]! >> shift;
}
