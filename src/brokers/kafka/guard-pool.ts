import type { Connection, ConnectionPool } from '@platformatic/kafka';
import type { Egress } from '../../dispatch/address/egress.ts';
import { BrokerError } from '../module/broker-error.ts';
import { vettedAddresses } from '../module/vetted-lookup.ts';

/**
 * The egress rule for the Kafka client, and a bound. It connects to whatever hosts the brokers advertise, and has no setting
 * for how. So its pools of connections are asked for vetted addresses: without TLS the name is replaced by one, with TLS
 * the name stays, for the certificate, and its lookup (`vettedLookup`) gives only vetted ones.
 */
interface Broker {
  host: string;
  port: number;
}

type Callback = (error: Error | null, connection?: never) => void;

/** A client needs a connection to each broker that leads a partition. */
const MAX_CONNECTIONS = 100;

interface Guard {
  egress: Egress;
  isSecure: boolean;
  /** The client threw an exception. */
  broken(error: Error): void;
}

export function guardPool(pool: ConnectionPool, { egress, isSecure, broken }: Guard): void {
  /** The checked address of each open connection. */
  const addresses = new Map<string, string>();
  const get = pool.get.bind(pool) as (broker: Broker, callback: Callback) => void;
  const has = pool.has.bind(pool);
  const established = pool.getEstablishedConnection.bind(pool);
  const named = (broker: Broker): Broker => ({ ...broker, host: addresses.get(broker.host) ?? broker.host });
  let asked = 0;

  const vet = async ({ host }: Broker): Promise<void> => {
    if ([...pool].length + asked >= MAX_CONNECTIONS)
      throw new BrokerError(`More than ${MAX_CONNECTIONS} brokers lead the partitions.`);
    asked += 1;
    try {
      const [address] = await vettedAddresses(egress, host);
      if (!isSecure && address !== undefined) addresses.set(host, address);
    } finally {
      asked -= 1;
    }
  };
  const guarded = async (broker: Broker | undefined, callback: Callback): Promise<void> => {
    // The client also asks for a broker that it does not know (yet), and goes by the error.
    if (broker === undefined) return get(broker as unknown as Broker, callback);
    const blocked = has(named(broker)) ? null : await vet(broker).catch((error: Error) => error);
    if (blocked instanceof Error) callback(blocked);
    else get(named(broker), callback);
  };
  // It forgets a connection by its address when that fails, and again when it closes. By then another may have the address,
  // and would stay open for ever. So it hears of the end at once, but after those who wait for the connection.
  const ended = ({ connection }: { connection: Connection }) => {
    queueMicrotask(() => connection.emit('close'));
  };
  pool.on('failed', ended);
  pool.on('connecting', (one) => one.connection.on('error', () => ended(one)));
  pool.get = ((broker: Broker, callback: Callback) => {
    guarded(broker, callback).catch(broken);
  }) as ConnectionPool['get'];
  pool.has = (broker) => has(named(broker));
  pool.getEstablishedConnection = (broker) => established(named(broker));
}
