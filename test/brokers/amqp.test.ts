import { amqpDriver } from './amqp-driver.ts';
import { conformance } from './conformance.ts';

conformance('AMQP', { broker: 'amqp', start: amqpDriver, isOrdered: false, takesBytes: true, maxHeld: 800 });
