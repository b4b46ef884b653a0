import type { Messages } from '../languages/en.ts';

/** The step at which a message to a broker fails, by the result of its attempt. */
const STEPS: Readonly<Record<string, keyof Messages['brokers']['steps']>> = {
  dns_not_found: 'name',
  dns_failed: 'name',
  address_blocked: 'name',
  connection_refused: 'connection',
  unreachable: 'connection',
  timeout: 'connection',
  connection_reset: 'connection',
  tls_failed: 'tls',
  sign_in_refused: 'sign_in',
  target_not_found: 'target',
  unroutable: 'target',
  not_permitted: 'rights',
  message_too_large: 'message',
  message_unfit: 'message',
  broker_refused: 'message',
};

/** Undefined: it did not fail, or for another reason. */
export function failedStep({ brokers }: Messages, outcome: string): string | undefined {
  const step = STEPS[outcome];
  return step && brokers.steps[step];
}

/** The advice for a message that failed. Empty: none is known. */
export function brokerAdvice({ brokers }: Messages, outcome: string): string {
  const advice: Readonly<Record<string, string>> = brokers.advice;
  return advice[outcome] ?? advice[STEPS[outcome] ?? ''] ?? '';
}
