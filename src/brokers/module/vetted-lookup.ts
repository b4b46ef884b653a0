import { isIP, type LookupFunction } from 'node:net';
import { BlockedAddress, type Egress } from '../../dispatch/address/egress.ts';
import { BrokerError } from './broker-error.ts';

/** The egress rule for libraries that take a lookup function: it gives only vetted addresses of a name. */
export function vettedLookup(egress: Egress): LookupFunction {
  const find = async (...[host, options, callback]: Parameters<LookupFunction>): Promise<void> => {
    try {
      const found = (await vettedAddresses(egress, host)).map((address) => ({
        address,
        family: isIP(address),
      }));
      const [first] = found;
      if (options.all === true) callback(null, found);
      else callback(null, first?.address ?? '', first?.family);
    } catch (error) {
      callback(error as Error, '', 4);
    }
  };
  return (...asked) => void find(...asked);
}

/** One at least. A host that may not be connected to is a `BrokerError`. */
export async function vettedAddresses(egress: Egress, host: string): Promise<string[]> {
  try {
    return await egress.addresses(host);
  } catch (error) {
    if (!(error instanceof BlockedAddress)) throw error;
    const { code, message } = error;
    throw new BrokerError(`${message[0]?.toUpperCase()}${message.slice(1)}.`, { code, cause: error });
  }
}
