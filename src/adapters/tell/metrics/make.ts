import {
  Counter,
  type CounterConfiguration,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  type HistogramConfiguration,
  type Registry,
} from 'prom-client'

/** Makes metrics of one registry. */
export type Make = ReturnType<typeof makerIn>

export function makerIn(registry: Registry) {
  const registers = [registry]
  return {
    counter: <Label extends string>(configuration: CounterConfiguration<Label>) =>
      new Counter<Label>({ ...configuration, registers }),
    gauge: <Label extends string>(configuration: GaugeConfiguration<Label>) =>
      new Gauge<Label>({ ...configuration, registers }),
    histogram: <Label extends string>(configuration: HistogramConfiguration<Label>) =>
      new Histogram<Label>({ ...configuration, registers }),
  }
}

/** Buckets, in seconds. */
export const MS_TO_MINUTES = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
export const SECONDS_TO_HOURS = [0.05, 0.25, 1, 2, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600]
export const DISK = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1]
