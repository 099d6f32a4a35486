import {
  Counter,
  type CounterConfiguration,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  type HistogramConfiguration,
  type Registry,
} from 'prom-client'

/** These families bypass prom-client, which takes fifteen times as long and keeps an object per series. */

/** `text` yields parts that take about a millisecond each. */
export type Family = {
  readonly name: string
  text(): Iterable<string>
}

type Description<Label extends string> = {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly Label[]
}

type Labels<Label extends string> = Readonly<Record<Label, string>>

const LINES_MAX = 500

/** A counter with closed label sets. Series that start at 0 cost only their line. */
type ClosedCounter<Label extends string> = Family & {
  /** Adds the strategy's series at 0 before the first count. */
  start(strategy: string, zeros: readonly Labels<Exclude<Label, 'strategy'>>[]): void
  inc(labels: Labels<Label>, by?: number): void
}

type Row = {
  zeros: readonly string[]
  readonly counts: Map<string, number>
}

/** The first label must be `strategy`. */
export function createClosedCounter<Label extends string>(
  description: Description<Label>,
): ClosedCounter<Label> {
  const { name, labelNames } = description
  const rows = new Map<string, Row>()
  // All strategies have the same series, so their texts are stored once.
  const texts = new Map<string, string>()
  const own = labelNames.filter((label) => label !== 'strategy')
  const textOf = (labels: Readonly<Record<string, string>>): string => {
    const text = own.map((label) => `,${label}="${escaped(labels[label] ?? '')}"`).join('')
    const known = texts.get(text)
    if (known !== undefined) return known
    texts.set(text, text)
    return text
  }
  const zerosOf = new Map<readonly object[], readonly string[]>()
  function rowOf(strategy: string): Row {
    const known = rows.get(strategy)
    if (known !== undefined) return known
    const row: Row = { zeros: [], counts: new Map() }
    rows.set(strategy, row)
    return row
  }
  function* lines(): Generator<string> {
    for (const [strategy, { zeros, counts }] of rows) {
      const start = `${name}{strategy="${escaped(strategy)}"`
      for (const text of zeros) yield `${start}${text}} ${counts.get(text) ?? 0}\n`
      for (const [text, count] of counts)
        if (!zeros.includes(text)) yield `${start}${text}} ${count}\n`
    }
  }
  return {
    name,
    start(strategy, zeros) {
      const known = zerosOf.get(zeros) ?? zeros.map(textOf)
      zerosOf.set(zeros, known)
      rowOf(strategy).zeros = known
    },
    inc(labels, by = 1) {
      const { counts } = rowOf((labels as Readonly<Record<string, string>>)['strategy'] ?? '')
      const text = textOf(labels)
      counts.set(text, (counts.get(text) ?? 0) + by)
    },
    text: () => parts(description, 'counter', lines()),
  }
}

/** A gauge that is read at each scrape. Every value has the same labels in the same order. */
export function createReadGauge(
  description: Omit<Description<never>, 'labelNames'> & {
    readonly read: () => Iterable<readonly [Labels<string>, number]>
  },
): Family {
  const { name, read } = description
  function* lines(): Generator<string> {
    for (const [labels, value] of read()) {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
      yield `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
    }
  }
  return { name, text: () => parts(description, 'gauge', lines()) }
}

function* parts(
  { name, help }: Pick<Description<string>, 'name' | 'help'>,
  type: 'counter' | 'gauge',
  lines: Iterable<string>,
): Generator<string> {
  let part = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
  let count = 0
  for (const line of lines) {
    part += line
    count += 1
    if (count % LINES_MAX > 0) continue
    yield part
    part = ''
  }
  yield `${part}\n`
}

const TO_ESCAPE = /[\\"\n]/g

function escaped(value: string): string {
  return value.replace(TO_ESCAPE, (char) => (char === '\n' ? '\\n' : `\\${char}`))
}

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

/** In seconds. */
export const MS_TO_MINUTES = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
export const SECONDS_TO_HOURS = [0.05, 0.25, 1, 2, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600]
export const DISK = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1]
