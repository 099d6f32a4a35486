import type * as z from 'zod'
import { backtestResult } from '../../backtest/report/result-schema.ts'
import * as s from '../../system/json-shapes.ts'
import { outcome } from './shapes.ts'

export const backtestReport = outcome({
  ...backtestResult.shape,
  expected: s.list('what `--expect` asked for', {
    text: s.text('as it was given'),
    holds: s.flag('whether it does'),
    actual: s.nullable('the figure; null where there is none', s.decimal()),
  }),
})
export type BacktestData = z.output<typeof backtestReport>

export const fetchReport = outcome({
  message: s.text('what came of it, in a sentence'),
  feeds: s.list('in the order of the config; those after a signal are left out', {
    pair: s.text('of the feed'),
    file: s.text('where its prices are'),
    fromAt: s.nullable('first price of the file; null where it has none', s.time()),
    untilAt: s.nullable('last price of the file; null where it has none', s.time()),
    added: s.count('rounds that were written'),
    skipped: s.count('rounds left out, as their answer is no price'),
    removed: s.count('rounds taken away, as a reorganisation had undone them'),
    end: s.oneOf('`whole`; or why it is not: a signal, or a chain that could not be read', [
      'whole',
      'stopped',
      'unread',
    ]),
    detail: s.nullable('why the chain could not be read', s.text()),
  }),
})
export type FetchData = z.output<typeof fetchReport>

export const replayReport = outcome({
  message: s.text('what came of it, in a sentence'),
  strategies: s.list('those that the journal has decisions of', {
    strategy: s.text('its name'),
    slots: s.count('decisions that were taken again'),
  }),
  others: s.count('decisions of files that are gone or say otherwise by now'),
  differences: s.list('at most 20 of them', {
    slot: s.text('`strategy:seconds`'),
    was: s.text('what the journal has'),
    is: s.text('what is decided now'),
  }),
  differencesLeftOut: s.count('beyond those'),
})
export type ReplayData = z.output<typeof replayReport>
