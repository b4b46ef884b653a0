import type { ConnectionPool } from '@platformatic/kafka';
import type { Egress } from '../../dispatch/address/egress.ts';
import { vettedAddresses } from '../module/vetted-lookup.ts';

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
  /** The checked address of each open connection. */
  const addresses = new Map<string, string>();
  const get = pool.get.bind(pool) as (broker: Broker, callback: Callback) => void;
  const has = pool.has.bind(pool);
  const established = pool.getEstablishedConnection.bind(pool);
  const named = (broker: Broker): Broker => ({ ...broker, host: addresses.get(broker.host) ?? broker.host });

  const vet = async ({ host }: Broker): Promise<void> => {
    const [address] = await vettedAddresses(egress, host);
    if (!isSecure && address !== undefined) addresses.set(host, address);
  };
  const guarded = async (broker: Broker | undefined, callback: Callback): Promise<void> => {
    try {
      // The client also asks for a broker that it does not know (yet), and goes by the error.
      if (broker !== undefined && !has(named(broker))) await vet(broker);
      get(broker === undefined ? (broker as unknown as Broker) : named(broker), callback);
    } catch (error) {
      callback(error as Error);
    }
  };
  pool.get = ((broker: Broker, callback: Callback) =>
    void guarded(broker, callback)) as ConnectionPool['get'];
  pool.has = (broker) => has(named(broker));
  pool.getEstablishedConnection = (broker) => established(named(broker));
}
