import { useState } from 'react';
import { ColumnChoice, useHiddenColumns } from '../ui/tables/column-choice.tsx';
import type { Column } from '../ui/tables/columns.ts';
import { DataList } from '../ui/tables/data-list.tsx';
import { Facts } from '../ui/tables/facts.tsx';
import { PlainTable } from '../ui/tables/plain-table.tsx';
import { StateBadge } from '../ui/text/state-badge.tsx';
import { Time } from '../ui/text/time.tsx';
import { LONG, Specimen } from './specimen.tsx';

interface Sample {
  id: string;
  name: string;
  at: string;
}

const NAMES = ['invoice.paid', LONG, '請求書.支払済', 'a'];
const samples = (many: number): Sample[] =>
  Array.from({ length: many }, (_, at) => ({
    id: String(at),
    name: NAMES[at % NAMES.length] ?? '',
    at: new Date(Date.now() - at * 61_000).toISOString(),
  }));
const MANY = samples(100_000);
const FEW = samples(4);

const columns: Column<Sample>[] = [
  {
    name: 'State',
    width: '9rem',
    line: 1,
    cell: () => <StateBadge look={{ tone: 'retry', shape: 'again', word: 'Waiting to retry' }} />,
  },
  { name: 'Type', width: 'minmax(7rem, 1fr)', line: 2, cell: ({ name }) => name },
  {
    name: 'Created',
    width: '6.5rem',
    from: 420,
    isTime: true,
    line: 1,
    cell: ({ at }) => <Time at={at} />,
  },
];

export function TableParts() {
  return (
    <>
      <Specimen name="Data list of 100,000 rows">{() => <List className="h-72" />}</Specimen>
      <Specimen name="Data list, narrow">{() => <List className="h-72 w-80" />}</Specimen>
      <Specimen name="Plain table, wide and narrow">
        {() => (
          <>
            <Table />
            <div className="w-80">
              <Table />
            </div>
            <PlainTable
              label="Numbers"
              isTight
              rows={FEW}
              rowKey={({ id }) => id}
              columns={['Day', 'Delivered', 'Failed'].map((name) => ({ name, cell: ({ id }: Sample) => id }))}
            />
          </>
        )}
      </Specimen>
      <Specimen name="Facts">
        {() => (
          <Facts
            items={[
              ['Address', `https://hooks.example.com/${'long/'.repeat(30)}`],
              ['Name', LONG],
              ['Empty', ''],
              ['Left out', undefined],
              ['Number', '12'],
            ]}
          />
        )}
      </Specimen>
    </>
  );
}

function List({ className }: { className: string }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(['1']));
  const [hidden, hide] = useHiddenColumns('gallery');
  const choose = (keys: readonly string[], isChosen: boolean) =>
    setChosen(new Set(isChosen ? [...chosen, ...keys] : [...chosen].filter((key) => !keys.includes(key))));
  return (
    <div className={`flex flex-col ${className}`}>
      <DataList
        label="Samples"
        rows={MANY}
        columns={columns.filter(({ name }) => !hidden.has(name))}
        rowKey={({ id }) => id}
        href={() => '/'}
        name={({ name }) => name}
        open="2"
        selection={{ chosen, choose }}
      />
      <ColumnChoice names={['Type', 'Created']} hidden={hidden} onChange={hide} />
    </div>
  );
}

const Table = () => (
  <PlainTable
    label="Samples"
    rows={FEW}
    rowKey={({ id }) => id}
    columns={[
      { name: 'Type', cell: ({ name }) => name },
      { name: 'Created', cell: ({ at }) => <Time at={at} /> },
    ]}
  />
);
