import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { SweepResult } from '../../../backtest/report/result.ts'
import { Select } from '../../parts/choices.tsx'
import { PlotArea } from '../../parts/elements.tsx'
import { Table } from '../../parts/table.tsx'
import {
  firstChoice,
  HEAT_STEPS,
  type HeatChoice,
  heatColumns,
  heatMapOf,
  METRICS,
} from '../data/heat.ts'

type Draw = (element: HTMLElement, sweep: SweepResult) => void

export function Curve({ sweep, draw }: { sweep: SweepResult; draw?: Draw }) {
  const element = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    if (element.current !== null) draw?.(element.current, sweep)
  }, [draw, sweep])
  const title = `Return by ${sweep.axes[0]?.key ?? ''}`
  return (
    <figure class="chart framed needs-script">
      <figcaption>
        <h3>{title}</h3>
      </figcaption>
      <PlotArea area={element} height="middle" label={title} />
    </figure>
  )
}

export function Heat({ sweep }: { sweep: SweepResult }) {
  const { axes } = sweep
  const [choice, choose] = useState(() => firstChoice(sweep))
  const map = heatMapOf(sweep, choice)
  return (
    <>
      <search class="choices needs-script" id="heat-choices">
        <Choices sweep={sweep} choice={choice} choose={choose} />
      </search>
      <p class="heat-across">
        <code>{axes[choice.across]?.key}</code> goes across, <code>{axes[choice.down]?.key}</code>{' '}
        down{axes.length > 2 ? ', the others as at the best point' : ''}.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach that. */}
      <section class="scroller" tabIndex={0} aria-label="Heat map">
        <Table
          id="heat"
          label="Heat map"
          kind="heat-map"
          columns={heatColumns(map)}
          rows={map.rows}
        />
      </section>
      <p class="scale" aria-hidden="true">
        worse{' '}
        <span class="scale-steps">
          {Array.from({ length: HEAT_STEPS }, (_, step) => (
            <span key={step} class={`heat-${step}`} />
          ))}
        </span>{' '}
        better
      </p>
    </>
  )
}

function Choices(props: {
  sweep: SweepResult
  choice: HeatChoice
  choose(choice: HeatChoice): void
}) {
  const { choice, choose } = props
  const { axes } = props.sweep
  const metrics = Object.entries(METRICS)
  const places = axes.map(({ key }, at) => [String(at), key] as const)
  return (
    <>
      <Select
        field="metric"
        title="Figure"
        options={metrics}
        value={choice.metric}
        choose={(metric) => choose({ ...choice, metric: metric as HeatChoice['metric'] })}
      />
      {axes.length > 2 &&
        (['across', 'down'] as const).map((way) => (
          <Select
            key={way}
            field={way}
            title={way === 'across' ? 'Across' : 'Down'}
            options={places}
            value={String(choice[way])}
            choose={(at) => choose(turned(choice, way, Number(at)))}
          />
        ))}
      {axes.length > 2 &&
        axes.map(({ key, values }, at) => (
          <Select
            key={key}
            field={`fixed-${at}`}
            title={key}
            options={values.map((value) => [value, value] as const)}
            value={choice.fixed[at] ?? ''}
            hidden={at === choice.across || at === choice.down}
            choose={(value) => choose({ ...choice, fixed: choice.fixed.with(at, value) })}
          />
        ))}
    </>
  )
}

/** Choosing an axis for both directions swaps it with the other one. */
function turned(choice: HeatChoice, way: 'across' | 'down', at: number): HeatChoice {
  const other = way === 'across' ? 'down' : 'across'
  return { ...choice, [way]: at, [other]: choice[other] === at ? choice[way] : choice[other] }
}
