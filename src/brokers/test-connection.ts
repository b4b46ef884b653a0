import { NO_BROKER_SETTINGS } from '../domain/config/source.ts';
import type { Logger } from '../platform/logger.ts';
import type { SourceRow } from '../store/config/sources.ts';
import { BrokerError } from './module/broker-error.ts';
import type { ConnectContext } from './module/broker-module.ts';
import { brokerSettings, testSource } from './modules.ts';
import { reasonOf } from './source-consumer.ts';

const LIMIT_MS = 10_000;

/** Null: the broker can be used with these settings. Else why it cannot. */
export async function testConnection(
  source: SourceRow,
  deps: { connect: Omit<ConnectContext, 'signal' | 'log'>; log: Logger },
): Promise<string | null> {
  const settings = brokerSettings(source);
  if (settings === null) return NO_BROKER_SETTINGS;
  const signal = AbortSignal.timeout(LIMIT_MS);
  try {
    await testSource(settings, { ...deps.connect, signal, log: deps.log });
    return null;
  } catch (error) {
    if (signal.aborted) return `The broker did not answer within ${LIMIT_MS / 1000} s.`;
    if (!(error instanceof BrokerError))
      deps.log.warn({ err: error, source: source.id }, 'a test of a broker failed');
    return reasonOf(error);
  }
}
