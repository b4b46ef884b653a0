import { BlockedAddress } from '../../dispatch/address/egress.ts';
import { ExchangeFailure } from '../../dispatch/connection/outcome.ts';
import { BrokerError, nestedErrors } from './broker-error.ts';
import { WorkloadError } from './workload.ts';

/** Any error of a module, in a word and a sentence. */
export function failureOf(error: unknown): ExchangeFailure {
  if (error instanceof ExchangeFailure) return error;
  const all = [...nestedErrors(error as Error)];
  const own = all.find((one) => one instanceof BrokerError);
  const blocked = all.find((one) => one instanceof BlockedAddress);
  const isOurs = own instanceof WorkloadError || blocked?.isOurs === true;
  return new ExchangeFailure(
    own?.code ?? blocked?.code ?? 'broker_refused',
    own?.message ?? 'The broker failed.',
    isOurs,
  );
}
