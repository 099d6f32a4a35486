import * as z from 'zod'
import * as s from '../../system/json-shapes.ts'
import { done, outcome } from './shapes.ts'

const span = {
  from: s.count('position of the first record'),
  to: s.count('position of the last record'),
}
const MACS = ['right', 'unchecked', 'none'] as const
const proof = {
  format: z.literal([1, 2]).describe('format of the journal'),
  records: s.count('records read in order'),
  last: s.nullable('newest record; null if there is none', {
    seq: s.count('position in the journal'),
    at: s.time('time of writing'),
  }),
  missing: s.nullable('unavailable range of the oldest records; null if all are available', span),
  files: s.count('files of the journal'),
  archived: s.count('files in the archive'),
  macs: s.oneOf("`right`: from the wallet's daemon; `unchecked`: no key; `none`: not signed", MACS),
  tornBytes: s.count('bytes of an incomplete last append'),
  snapshotSeq: s.nullable('last record in state.json; null if it cannot be read', s.count()),
  faults: s.list('faults; empty if nothing is missing or altered', {
    file: s.text('path of the file'),
    detail: s.text('human-readable fault'),
    remedy: s.text('how to fix it'),
  }),
}
const stateDir = s.text('path of the state directory')
const structureOnly = s.nullable('why the author was not checked; null if it was', s.text())

export const verify = outcome({
  stateDir,
  ...proof,
  unfitSideFiles: s.list('index files that do not fit their journal file; no fault', s.text()),
  structureOnly,
})
export type VerifyData = z.output<typeof verify>

export const rebuild = done({
  message: s.text('human-readable result'),
  stateDir,
  records: s.count('records that state.json was made from'),
  indexed: s.count('finished journal files that were indexed anew'),
  kept: s.nullable('new name of the old state.json; null if there was none', s.text()),
})
export type RebuildData = z.output<typeof rebuild>

export const backup = done({
  stateDir,
  backup: s.text('path of the backup'),
  ...proof,
  structureOnly,
})
export type BackupData = z.output<typeof backup>

export const restore = outcome({
  message: s.text('human-readable result'),
  stateDir,
  backup: s.object('proof of the backup', { from: s.text('path of the backup'), ...proof }),
  movedTo: s.nullable('new path of the old state; null if nothing was moved', s.text()),
  objection: s.nullable('objection that only `--replace` overrules; null if none', s.text()),
  loses: s.nullable('records missing in the backup; null if none is known to be', {
    ...span,
    fromAt: s.time('time of writing of the first record'),
    toAt: s.time('time of writing of the last record'),
    authorizations: s.count('records of authorizations'),
  }),
})
export type RestoreData = z.output<typeof restore>

export const stateNew = done({
  message: s.text('human-readable result'),
  keptAside: s.nullable('new path of the old state; null if there was none', s.text()),
})
export type StateNewData = z.output<typeof stateNew>

export const acceptLoss = done({ message: s.text('human-readable result') })
export type AcceptLossData = z.output<typeof acceptLoss>
export type ProofData = z.output<z.ZodObject<typeof proof>>
