import { compileSigner } from './signature.ts';
import { checkTimestamp, readHeader, refused, type Verifier, verified } from './verifier.ts';

/** One header of elements such as `t=<seconds>,v1=<hex>[,v1=<hex>...]`, as several providers send it. */
interface ElementScheme {
  header: string;
  separator: ',' | ';';
  /** The name of the element with the signed time in seconds. Null: no time is signed. */
  time: string | null;
  /** The name of the elements with a hexadecimal SHA-256. There are two while a secret is being rolled. */
  signature: string;
  /** The character between time and body in the signed text. */
  joint: '.' | ':' | '';
}

/** Other elements, such as Stripe's `v0`, are ignored, as the providers ask. The whole secret is the key. */
export function signedElements(scheme: ElementScheme): (secret: string) => Verifier {
  return (secret) => {
    const signer = compileSigner('SHA256', 'hex', secret);
    return (request, nowMs) => {
      const reading = readHeader(request, scheme.header);
      if (!reading.ok) return reading;
      // Node joins a repeated header by ", ".
      if (scheme.separator === ';' && reading.value.includes(',')) {
        return refused(`header ${scheme.header} was sent more than once`);
      }
      const valuesOf = elementsOf(reading.value, scheme.separator);
      const times = scheme.time === null ? [''] : valuesOf(scheme.time);
      const [time] = times;
      if (time === undefined || times.length > 1) {
        return refused(`header ${scheme.header} does not contain exactly one timestamp`);
      }
      const fresh = scheme.time === null ? verified : checkTimestamp(time, nowMs);
      if (!fresh.ok) return fresh;
      const isSigned = (given: string) => signer.matches(given, `${time}${scheme.joint}`, request.body);
      return valuesOf(scheme.signature).filter(isSigned).length > 0
        ? verified
        : refused(`header ${scheme.header} does not match the body`);
    };
  };
}

function elementsOf(value: string, separator: string): (name: string) => string[] {
  const elements = value.split(separator).map((element) => element.trim());
  return (name) =>
    elements
      .filter((element) => element.startsWith(`${name}=`))
      .map((element) => element.slice(name.length + 1));
}
