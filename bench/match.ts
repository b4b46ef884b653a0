/**
 * The time to match 1,000 subscriptions' filters against one 800-byte event, on one core. Run: node
 * bench/match.ts (about 2 s). The goal is under 1 ms.
 */
import { EventTypeIndex } from '../src/matcher/event-type.ts';
import { type CompiledFilter, compileFilter, type FilterScopes } from '../src/matcher/filter.ts';
import { FilterSubject } from '../src/matcher/filter-subject.ts';

const SUBSCRIPTIONS = 1_000;
const ROUNDS = 1_000;
const WARM_UP_ROUNDS = 200;

const event = {
  id: 'in_01HXYZ7P2K3M4N5Q6R7S8T9V0W',
  type: 'invoice.paid',
  created: '2030-01-02T03:04:05.678Z',
  account: { id: 'acct_42', country: 'NG', plan: 'scale', tags: ['vip', 'beta', 'eu'] },
  customer: {
    name: 'Adaeze Obi',
    email: 'adaeze@example.com',
    age: '34',
    address: { city: 'Lagos', zip: '100001' },
  },
  lines: [
    { sku: 'posthorn-1', quantity: 3, amount: 1200, taxes: [{ name: 'VAT', rate: 7.5 }] },
    { sku: 'posthorn-2', quantity: 1, amount: 4900, taxes: [{ name: 'VAT', rate: 7.5 }] },
    { sku: 'posthorn-3', quantity: 9, amount: 150, taxes: [{ name: 'none', rate: 0 }] },
  ],
  total: 9850,
  currency: 'NGN',
  livemode: true,
  note: 'x'.repeat(188),
};

/** A mixture of typical filters. About half of them match the event. */
function scopesOf(at: number): FilterScopes {
  const kinds: FilterScopes[] = [
    { body: { account: { id: `acct_${at % 84}` } } },
    { body: { type: 'invoice.paid', total: { $gte: 5_000 + at * 10 } } },
    { body: { 'account.country': { $in: ['NG', 'KE', 'GH'] }, livemode: true } },
    { body: { 'lines.$.sku': `posthorn-${at % 6}` } },
    { body: { 'lines.$.taxes.$.name': 'VAT', currency: 'NGN' } },
    { body: { account: { tags: at % 20 < 10 ? 'vip' : 'trial' } } },
    { body: { customer: { email: { $regex: '@example\\.com$' }, age: { $gt: 18 } } } },
    {
      body: { $or: [{ total: { $lt: 100 } }, { 'customer.address.city': 'Lagos' }] },
      headers: { 'X-Region': 'eu' },
    },
    { headers: { 'x-region': at % 20 < 10 ? 'eu' : 'us' }, query: { tenant: '7' } },
    { body: { account: { plan: { $nin: ['free', 'trial'] }, closed_at: { $exist: false } } } },
  ];
  return kinds[at % kinds.length]!;
}

function compile(scopes: FilterScopes): CompiledFilter {
  const result = compileFilter(scopes);
  if (!result.ok) throw new Error(`${result.path}: ${result.message}`);
  return result.filter;
}

const patterns = ['invoice.paid', '*', 'invoice.*'];
const index = new EventTypeIndex(
  Array.from({ length: SUBSCRIPTIONS }, (_, at) => [patterns[at % 3]!, compile(scopesOf(at))] as const),
);
const text = JSON.stringify(event);
const headers = { 'Content-Type': 'application/json', 'X-Region': 'eu', 'User-Agent': 'bench' };

function matchOnce(): number {
  const subject = new FilterSubject({
    body: JSON.parse(text),
    headers,
    query: 'tenant=7&a=b',
    path: '/ingest/x',
  });
  let matched = 0;
  for (const filter of index.candidates('invoice.paid')) if (filter.matches(subject)) matched += 1;
  return matched;
}

let matched = 0;
for (let round = 0; round < WARM_UP_ROUNDS; round += 1) matched = matchOnce();
const timesMs = Array.from({ length: ROUNDS }, () => {
  const startedMs = performance.now();
  matched = matchOnce();
  return performance.now() - startedMs;
}).sort((left, right) => left - right);
const at = (share: number) => timesMs[Math.floor(ROUNDS * share)]!.toFixed(3);
console.log(
  `${SUBSCRIPTIONS} filters, ${text.length}-byte event, ${matched} matched: median ${at(0.5)} ms, p99 ${at(0.99)} ms`,
);
