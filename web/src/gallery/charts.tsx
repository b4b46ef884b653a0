import { BarChart } from '../ui/charts/bar-chart.tsx';
import type { Mark } from '../ui/charts/marks.tsx';
import { QrView } from '../ui/charts/qr-view.tsx';
import { TimingBar } from '../ui/charts/timing-bar.tsx';
import { Specimen } from './specimen.tsx';

const SERIES = [
  ['Delivered', 'fill-ok'],
  ['Failed', 'fill-bad'],
] as const;
const bars = (height: number) =>
  Array.from({ length: 60 }, (_, at) => ({
    label: `14:${String(at).padStart(2, '0')}`,
    values: [Math.round(height * (1 + Math.sin(at / 6))), at % 17 === 0 ? height / 4 : 0],
  }));

const MARKS: readonly Mark[] = [
  { bar: 20, into: 0.5, title: 'Billing: circuit breaker opened', text: 'Billing opened 40 min ago' },
  { bar: 44, into: 0.2, title: 'Billing: circuit breaker closed', text: 'Billing closed', isGood: true },
];

export function ChartParts() {
  return (
    <>
      <Specimen name="Bar chart with marks, and one without values">
        {() => (
          <>
            <BarChart
              label="Deliveries per minute"
              series={SERIES}
              bars={bars(1200)}
              marks={['Circuit breakers', MARKS]}
              onBrush={() => undefined}
            />
            <BarChart
              label="Deliveries per minute"
              series={SERIES}
              bars={bars(0)}
              onBrush={() => undefined}
            />
          </>
        )}
      </Specimen>
      <Specimen name="Timing bar: answered, no answer, none">
        {() => (
          <>
            <TimingBar
              parts={[
                ['Name', 0.4],
                ['Connect', 12],
                ['TLS', 31],
                ['First byte', 240],
                ['Rest', 3],
              ]}
            />
            <TimingBar
              parts={[
                ['Connect', 12],
                ['No answer', 30_000],
              ]}
            />
            <TimingBar parts={[]} />
          </>
        )}
      </Specimen>
      <Specimen name="QR code">{() => <QrView label="A QR code" text="otpauth://totp/Posthorn" />}</Specimen>
    </>
  );
}
