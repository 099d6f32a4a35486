import { readdirSync, readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { expect, test, vi } from 'vitest'
import { NOTIFY_EVENTS } from '../../src/domain/notify.ts'
import {
  FAILURE_REASONS,
  LIMIT_REASONS,
  REASONS,
  REFUSAL_REASONS,
  SKIP_REASONS,
} from '../../src/domain/order/reason.ts'
import { servedMetrics } from '../support/served-metrics.ts'
import { programOf, quietIo } from './folder.ts'

/**
 * Guards names that users depend on: metrics with types, labels and help, commands with flags and help, config keys, JSON shapes,
 * reasons and notification events.
 *
 * To change a help text on purpose: run `npx vitest run test/golden -u` and read the diff. Names stay.
 */

const SCHEMAS = 'config/schema'

test('metrics of a fresh daemon: names, types, labels and helps', async () => {
  const now = vi.spyOn(Date, 'now').mockReturnValue(1_800_000_000_000)
  const { metrics } = servedMetrics()
  metrics.registerStrategies([{ name: 'weekly-eth' }, { name: 'poke' }])
  const text = (await metrics.render()).split('\n')
  now.mockRestore()
  const ours = text.filter((line) => !/(process|nodejs)_/.test(line) && line !== '')
  await expect(`${ours.join('\n')}\n`).toMatchFileSnapshot('data/metrics.txt')
})

test('labels of metrics without samples', async () => {
  const { metrics } = servedMetrics()
  const labels = Object.entries(metrics).flatMap(([property, each]) =>
    typeof each === 'object' && 'labelNames' in each && 'name' in each
      ? [`${property} ${each.name} ${JSON.stringify(each.labelNames)}\n`]
      : [],
  )
  await expect(labels.toSorted().join('')).toMatchFileSnapshot('data/metric-labels.txt')
})

test('help of every command', async () => {
  let text = ''
  for (const [words, command] of allOf(programOf(quietIo(() => undefined)))) {
    command.configureOutput({
      getOutHelpWidth: () => 100,
      writeOut: (part) => {
        text += part
      },
    })
    text += `$ tranched ${words} --help\n`
    command.outputHelp()
    text += '\n'
  }
  await expect(text).toMatchFileSnapshot('data/help.txt')
})

test.each(['bash', 'zsh', 'fish'])('completion of %s', async (shell) => {
  let text = ''
  const io = quietIo((part) => {
    text += part
  })
  const program = programOf(io, async (outcome) => void (await outcome))
  await program.parseAsync(['node', 'tranched', 'completion', shell])
  await expect(text).toMatchFileSnapshot(`data/completion.${shell}.txt`)
})

test('JSON schemas of the config, of strategies and of what commands print', async () => {
  const text = readdirSync(SCHEMAS)
    .toSorted()
    .map((name) => `${name}\n${schemaText(readFileSync(`${SCHEMAS}/${name}`, 'utf8'))}\n`)
  await expect(text.join('')).toMatchFileSnapshot('data/schemas.txt')
})

test('reasons and notification events', async () => {
  const sets = { LIMIT_REASONS, SKIP_REASONS, REFUSAL_REASONS, FAILURE_REASONS }
  const text = JSON.stringify({ ...sets, REASONS, NOTIFY_EVENTS }, undefined, 1)
  await expect(`${text}\n`).toMatchFileSnapshot('data/reasons.txt')
})

/** Every command, hidden ones included, with its words. */
function allOf(command: Command, path: readonly string[] = []): (readonly [string, Command])[] {
  const below = command.commands.flatMap((each) => allOf(each, [...path, each.name()]))
  return [[path.join(' '), command], ...below]
}

/** One line per definition, without descriptions. */
function schemaText(json: string): string {
  const bare = JSON.parse(json, (key, value: unknown) =>
    key === 'description' && typeof value === 'string' ? undefined : value,
  ) as Readonly<Record<string, unknown>>
  return Object.entries(bare)
    .flatMap(([key, value]) =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).map(([name, each]) => `${key} ${name} ${JSON.stringify(each)}`)
        : [`${key} ${JSON.stringify(value)}`],
    )
    .join('\n')
}
