import { BrokerRunner } from '../brokers/broker-runner.ts';
import { Destinations } from '../brokers/destinations.ts';
import { MessageStore, type MessageStoreDeps } from '../brokers/message-store.ts';
import type { Workload } from '../brokers/module/workload.ts';
import { testConnection } from '../brokers/modules.ts';
import { SourceAlarms } from '../brokers/source-alarms.ts';
import { StatusBoard } from '../brokers/status-board.ts';
import type { ConfigChanges } from '../control/config-changes.ts';
import type { HttpClient } from '../dispatch/client/http-client.ts';
import type { Logger } from '../platform/logger.ts';
import { sizedTo } from '../platform/memory/usable-memory.ts';
import type { Sealer } from '../platform/sealer.ts';
import { Room } from '../platform/shared-room.ts';
import { systemClock } from '../platform/time/clock.ts';
import { ChangeStreamStore } from '../store/brokers/change-streams.ts';
import type { SourceRow, SourceStore } from '../store/config/sources.ts';
import type { Database } from '../store/database/database.ts';

/** Deliveries to brokers, under the same egress rule and authorities as all others. */
export const createDestinations = (http: HttpClient, workload: Workload, log: Logger): Destinations =>
  new Destinations({ egress: http.egress, secureContext: () => http.secureContext(), workload, log });

/** Bounds the messages of brokers that are being stored at a time. */
const MAX_BYTES = 64 * 1024 * 1024;

export interface Brokers {
  runner: BrokerRunner;
  board: StatusBoard;
  testSource(source: SourceRow): Promise<string | null>;
}

export function createBrokers(
  deps: Omit<MessageStoreDeps, 'room'> & {
    db: Database;
    http: HttpClient;
    workload: Workload;
    changes: ConfigChanges;
    sources: SourceStore;
    nodeId: string;
    sealer: Sealer;
    log: Logger;
  },
): Brokers {
  const { http, workload, log } = deps;
  const board = new StatusBoard(deps);
  const clock = { now: deps.now, after: systemClock.after };
  const streams = new ChangeStreamStore(deps);
  const connect = {
    egress: http.egress,
    secureContext: () => http.secureContext(),
    workload,
    streams,
    clock,
  };
  const messages = new MessageStore({ ...deps, room: new Room(sizedTo(MAX_BYTES)) });
  const runner = new BrokerRunner({ ...deps, messages, board, alarms: new SourceAlarms(deps), connect });
  return { runner, board, testSource: (source) => testConnection(source, { connect, log }) };
}
