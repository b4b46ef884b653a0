import type { LookupFunction } from 'node:net';
import type { ConnectionPool } from '@platformatic/kafka';
import { BlockedAddress, type Egress } from '../../dispatch/address/egress.ts';
import { BrokerError } from '../module/broker-module.ts';

/**
 * The egress rule for the Kafka client. It connects to whatever hosts the brokers advertise, and has no setting for
 * how. So its pools of connections are asked for vetted addresses: without TLS the name is replaced by one, with TLS
 * the name stays, for the certificate, and its lookup (`vettedLookup`) gives only vetted ones.
 */
interface Broker {
  host: string;
  port: number;
}

type Callback = (error: Error | null, connection?: never) => void;

export function guardPool(pool: ConnectionPool, egress: Egress, isSecure: boolean): void {
  /** Of connections that are open. */
  const addresses = new Map<string, string>();
  const get = pool.get.bind(pool) as (broker: Broker, callback: Callback) => void;
  const has = pool.has.bind(pool);
  const established = pool.getEstablishedConnection.bind(pool);
  const named = (broker: Broker): Broker => ({ ...broker, host: addresses.get(broker.host) ?? broker.host });

  const vet = async ({ host }: Broker): Promise<void> => {
    const [address] = await egress.addresses(host);
    if (!isSecure && address !== undefined) addresses.set(host, address);
  };
  const guarded = async (broker: Broker | undefined, callback: Callback): Promise<void> => {
    try {
      // The client also asks for a broker that it does not know (yet), and goes by the error.
      if (broker !== undefined && !has(named(broker))) await vet(broker);
      get(broker === undefined ? (broker as unknown as Broker) : named(broker), callback);
    } catch (error) {
      callback(plain(error));
    }
  };
  pool.get = ((broker: Broker, callback: Callback) =>
    void guarded(broker, callback)) as ConnectionPool['get'];
  pool.has = (broker) => has(named(broker));
  pool.getEstablishedConnection = (broker) => established(named(broker));
}

/** For TLS connections, which are opened by name. */
export function vettedLookup(egress: Egress): LookupFunction {
  const find = async (...[host, options, callback]: Parameters<LookupFunction>): Promise<void> => {
    try {
      const addresses = await egress.addresses(host);
      const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      const [first] = found;
      if (options.all === true) callback(null, found);
      else callback(null, first?.address ?? '', first?.family);
    } catch (error) {
      callback(plain(error), '', 4);
    }
  };
  return (...asked) => void find(...asked);
}

function plain(error: unknown): Error {
  const { message } = error as Error;
  return error instanceof BlockedAddress
    ? new BrokerError(`${message[0]?.toUpperCase()}${message.slice(1)}.`)
    : (error as Error);
}
