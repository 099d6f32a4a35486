import { describe, expect, test } from 'vitest'
import {
  checkDisk,
  checkNotify,
  checkSupervisor,
} from '../../../../src/cli/commands/doctor/check-machine.ts'
import {
  checkAnchor,
  checkHalt,
  checkHolder,
  checkOwner,
  checkProof,
} from '../../../../src/cli/commands/doctor/check-state.ts'
import type { NotifySettings } from '../../../../src/config/settings/notify.ts'
import { notifySchema } from '../../../../src/config/settings/notify.ts'
import { findings, verdicts } from './verdicts.ts'

const GIB = 1024 ** 3

describe('disk check', () => {
  const well = { ok: true, medianMs: 1.234, worstMs: 9 } as const
  test('passes a fast disk with free space', () => {
    const checks = checkDisk('/state', { freeBytes: 5 * GIB, writes: well })
    expect(verdicts(checks)).toEqual(['fine disk-room', 'fine disk-latency'])
    expect(checks[1]?.says).toBe('a small durable write takes 1.2 ms, at worst 9 ms')
  })

  test.each([
    [
      'a disk with little free space',
      { freeBytes: GIB / 2, writes: well },
      /^warning disk-room: \/state: 512 MiB free/,
    ],
    ['a full disk', { freeBytes: 10_000, writes: well }, /^fault disk-room: \/state: 0 MiB free/],
    [
      'a slow disk',
      { freeBytes: 5 * GIB, writes: { ...well, medianMs: 80 } },
      /^warning disk-latency: .*80 ms/,
    ],
    [
      'a stalling disk',
      { freeBytes: 5 * GIB, writes: { ...well, worstMs: 4_000 } },
      /^warning disk-latency/,
    ],
    [
      'a read-only disk',
      { freeBytes: 5 * GIB, writes: { ok: false, why: 'EROFS' } },
      /^fault disk-latency: .*EROFS/,
    ],
    [
      'a missing state directory',
      { freeBytes: 5 * GIB, writes: undefined },
      /^unknown disk-latency/,
    ],
  ] as const)('flags %s', (_, snapshot, message) => {
    expect(findings(checkDisk('/state', snapshot))).toEqual([expect.stringMatching(message)])
  })
})

describe('check of the process that holds the state directory', () => {
  const holder = { pid: 7, host: 'box', command: 'tranched run', status: 'alive' } as const
  test.each([
    ['no holder', { holder: undefined, answers: undefined }, 'fine'],
    ['an answering daemon', { holder, answers: true }, 'fine'],
    [
      'a command',
      { holder: { ...holder, command: 'tranched gastank deposit' }, answers: undefined },
      'fine',
    ],
    ['a silent daemon', { holder, answers: false }, 'fault'],
    [
      'a holder of unknown status',
      { holder: { ...holder, status: 'unknown' }, answers: undefined },
      'warning',
    ],
  ] as const)('%s', (_, input, verdict) => {
    const check = checkHolder(input)
    expect(check.verdict).toBe(verdict)
    if (verdict === 'fault') expect(check.remedy).toContain('`kill -9 7`')
  })
})

describe('state check', () => {
  test('warns of a halt with its cause', () => {
    expect(checkHalt(undefined).verdict).toBe('fine')
    const halted = checkHalt('wallet 0x01 has sent 3 transactions')
    expect(halted).toMatchObject({ verdict: 'warning' })
    expect(halted.says).toContain('0x01 has sent 3')
  })

  test('a state of another wallet is a fault', () => {
    expect(checkOwner(undefined).verdict).toBe('fine')
    expect(checkOwner('the state directory belongs to wallet 0x01').verdict).toBe('fault')
  })

  test('a conflict with the anchor is a fault with the possible actions as remedy', () => {
    expect(verdicts(checkAnchor([], 1))).toEqual(['fine anchor'])
    const message =
      '/s: this state went back\nNothing was signed. Ways on:\n  1. bring it back\n  2. `b`'
    expect(findings(checkAnchor([message], 1))).toEqual([
      'fault anchor: /s: this state went back -> bring it back; or `b`',
    ])
  })

  test('a state that fails its proof is reported with file and remedy', () => {
    const sound = {
      journalFault: undefined,
      snapshotFault: undefined,
      records: 5,
      missing: undefined,
    }
    expect(verdicts(checkProof(undefined, undefined))).toEqual(['fine state-proof'])
    expect(verdicts(checkProof(sound, undefined))).toEqual(['fine state-proof'])
    expect(verdicts(checkProof(sound, 'no key'))).toEqual(['unknown state-proof'])
    const journalFault = {
      file: '/s/journal/1',
      detail: 'line 3 was altered',
      remedy: 'restore it',
    }
    expect(findings(checkProof({ ...sound, journalFault }, undefined))).toEqual([
      'fault state-proof: /s/journal/1: line 3 was altered -> restore it',
    ])
  })
})

describe('supervisor check', () => {
  const pm2 = { kind: 'pm2', killTimeoutMs: 40_000, isSaved: true } as const
  const nothing = { killTimeoutMs: undefined, isSaved: undefined }
  test.each([
    [undefined, ['unknown supervisor']],
    [{ kind: 'hidden', ...nothing }, ['unknown supervisor']],
    [{ kind: 'unseen', ...nothing }, ['unknown supervisor']],
    [{ kind: 'systemd', ...nothing }, ['fine supervisor']],
    [pm2, ['fine supervisor', 'fine pm2-kill-timeout', 'fine pm2-saved']],
    [
      { ...pm2, killTimeoutMs: 1_600 },
      ['fine supervisor', 'warning pm2-kill-timeout', 'fine pm2-saved'],
    ],
    [
      { ...pm2, killTimeoutMs: undefined },
      ['fine supervisor', 'warning pm2-kill-timeout', 'fine pm2-saved'],
    ],
    [{ ...pm2, isSaved: false }, ['fine supervisor', 'fine pm2-kill-timeout', 'warning pm2-saved']],
    [
      { ...pm2, isSaved: undefined },
      ['fine supervisor', 'fine pm2-kill-timeout', 'warning pm2-saved'],
    ],
  ] as const)('%o', (snapshot, expected) => {
    expect(verdicts(checkSupervisor(snapshot))).toEqual(expected)
  })
})

describe('notification check', () => {
  const noReceiver = {
    ...notifySchema.parse({}),
    digest: undefined,
    heartbeat: undefined,
  } as unknown as NotifySettings
  const one = { ...noReceiver, telegram: [{ on: [] }] } as unknown as NotifySettings
  const withHeartbeat = {
    ...one,
    heartbeat: { url: 'https://hc.example/secret' },
  } as unknown as NotifySettings
  test.each([
    ['live', noReceiver, ['warning receivers']],
    ['dry-run', noReceiver, ['fine receivers']],
    ['live', one, ['fine receivers', 'warning heartbeat']],
    ['live', withHeartbeat, ['fine receivers', 'fine heartbeat']],
  ] as const)('in mode %s', (mode, notify, expected) => {
    const checks = checkNotify({ mode, notify })
    expect(verdicts(checks)).toEqual(expected)
    expect(JSON.stringify(checks)).not.toContain('secret')
  })
})
