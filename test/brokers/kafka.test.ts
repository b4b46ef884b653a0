import { conformance } from './conformance.ts';
import { kafkaDriver } from './kafka-driver.ts';

conformance('Kafka', { broker: 'kafka', start: kafkaDriver, isOrdered: true, takesBytes: true });
