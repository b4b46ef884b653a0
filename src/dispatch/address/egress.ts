import type { ErrorCode } from '../../domain/delivery.ts';
import type { AddressGuard } from './address-guard.ts';
import type { NameResolver } from './name-resolver.ts';

/** A host that may not be connected to, or whose name has no address. */
export class BlockedAddress extends Error {
  readonly code: ErrorCode;
  /** Names cannot be resolved at all now. */
  readonly isOurs: boolean;

  constructor(code: ErrorCode, message: string, isOurs = false) {
    super(message);
    this.code = code;
    this.isOurs = isOurs;
  }
}

/** The egress rule. Connections of ours, and those that other libraries make, go to vetted addresses and not to names. */
export class Egress {
  readonly #guard: AddressGuard;
  readonly #resolver: NameResolver;

  constructor(guard: AddressGuard, resolver: NameResolver) {
    this.#guard = guard;
    this.#resolver = resolver;
  }

  /**
   * The addresses of a host that may be connected to, one at least.
   * @throws BlockedAddress where there is none, with the reason
   */
  async addresses(host: string): Promise<string[]> {
    const resolution = await this.#resolver.resolve(host);
    if (resolution.kind === 'not_found')
      throw new BlockedAddress('dns_not_found', `the name ${host} does not exist`);
    if (resolution.kind === 'failed')
      throw new BlockedAddress(
        'dns_failed',
        `the name ${host} cannot be resolved: ${resolution.reason}`,
        resolution.ours,
      );
    const reasons: string[] = [];
    const allowed = resolution.addresses.filter((address) => {
      const verdict = this.#guard.verdict(address);
      if (!verdict.allowed) reasons.push(verdict.reason);
      return verdict.allowed;
    });
    if (allowed.length === 0)
      throw new BlockedAddress(
        'address_blocked',
        `not allowed to connect to ${host}: ${reasons[0] ?? 'it has no address'}`,
      );
    return allowed;
  }
}
