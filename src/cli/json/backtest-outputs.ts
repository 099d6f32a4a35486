import type * as z from 'zod'
import { backtestResult } from '../../backtest/report/result-schema.ts'
import * as s from '../../system/json-shapes.ts'
import { outcome } from './shapes.ts'

export const backtestReport = outcome({
  ...backtestResult.shape,
  expected: s.list('results of `--expect`', {
    text: s.text('condition as given'),
    holds: s.flag('whether the condition holds'),
    actual: s.nullable('actual figure; null if there is none', s.decimal()),
  }),
})
export type BacktestData = z.output<typeof backtestReport>

const ENDS = ['whole', 'stopped', 'unread'] as const

export const fetchReport = outcome({
  message: s.text('human-readable result'),
  feeds: s.list('feeds in the order of the config, up to the one that a signal stopped', {
    pair: s.text('BASE/QUOTE of the feed'),
    file: s.text('path of the price file'),
    fromAt: s.nullable('time of the first price in the file; null if it has none', s.time()),
    untilAt: s.nullable('time of the last price in the file; null if it has none', s.time()),
    added: s.count('rounds written'),
    skipped: s.count('rounds left out because their answer is not a valid price'),
    removed: s.count('rounds removed because a reorganisation undid them'),
    end: s.oneOf(
      '`whole`, `stopped` by a signal, or `unread` if the chain could not be read',
      ENDS,
    ),
    detail: s.nullable('why the chain could not be read; null if it could', s.text()),
  }),
})
export type FetchData = z.output<typeof fetchReport>

export const replayReport = outcome({
  message: s.text('human-readable result'),
  strategies: s.list('strategies with repeated decisions', {
    strategy: s.text('name of the strategy'),
    slots: s.count('repeated decisions'),
  }),
  others: s.count('decisions left out: the strategy is not named, or its file is gone or changed'),
  differences: s.list('first 20 differences', {
    slot: s.text('STRATEGY:EPOCH_SECONDS, as `why` takes it'),
    was: s.text('decision in the journal'),
    is: s.text('decision now'),
  }),
  differencesLeftOut: s.count('further differences'),
})
export type ReplayData = z.output<typeof replayReport>
