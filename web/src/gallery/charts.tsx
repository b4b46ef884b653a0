import { BarChart } from '../ui/charts/bar-chart.tsx';
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

export function ChartParts() {
  return (
    <>
      <Specimen name="Bar chart, and one without values">
        {() => (
          <>
            <BarChart
              label="Deliveries per minute"
              series={SERIES}
              bars={bars(1200)}
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
