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
import { troubles, verdicts } from './verdicts.ts'

const GIB = 1024 ** 3

describe('the disk', () => {
  const well = { ok: true, medianMs: 1.234, worstMs: 9 } as const
  test('that is quick and has room is fine', () => {
    const checks = checkDisk('/state', { freeBytes: 5 * GIB, writes: well })
    expect(verdicts(checks)).toEqual(['fine disk-room', 'fine disk-latency'])
    expect(checks[1]?.says).toBe('a small durable write takes 1.2 ms, at worst 9 ms')
  })

  test.each([
    [
      'has little room',
      { freeBytes: GIB / 2, writes: well },
      /^warning disk-room: \/state: 512 MiB free/,
    ],
    ['has no room', { freeBytes: 10_000, writes: well }, /^fault disk-room: \/state: 0 MiB free/],
    [
      'is slow',
      { freeBytes: 5 * GIB, writes: { ...well, medianMs: 80 } },
      /^warning disk-latency: .*80 ms/,
    ],
    [
      'stalls',
      { freeBytes: 5 * GIB, writes: { ...well, worstMs: 4_000 } },
      /^warning disk-latency/,
    ],
    [
      'takes nothing',
      { freeBytes: 5 * GIB, writes: { ok: false, why: 'EROFS' } },
      /^fault disk-latency: .*EROFS/,
    ],
    [
      'has no state directory yet',
      { freeBytes: 5 * GIB, writes: undefined },
      /^unknown disk-latency/,
    ],
  ] as const)('that %s', (_, snapshot, words) => {
    expect(troubles(checkDisk('/state', snapshot))).toEqual([expect.stringMatching(words)])
  })
})

describe('whoever holds the state directory', () => {
  const holder = { pid: 7, host: 'box', command: 'tranched run', standing: 'alive' } as const
  test.each([
    ['nobody', { holder: undefined, answers: undefined }, 'fine'],
    ['a daemon that answers', { holder, answers: true }, 'fine'],
    [
      'a command',
      { holder: { ...holder, command: 'tranched gastank deposit' }, answers: undefined },
      'fine',
    ],
    ['a daemon that does not', { holder, answers: false }, 'fault'],
    [
      'somebody whom nobody can see',
      { holder: { ...holder, standing: 'unknown' }, answers: undefined },
      'warning',
    ],
  ] as const)('%s', (_, input, verdict) => {
    const check = checkHolder(input)
    expect(check.verdict).toBe(verdict)
    if (verdict === 'fault') expect(check.remedy).toContain('`kill -9 7`')
  })
})

describe('the state', () => {
  test('that is halted is a warning with its cause', () => {
    expect(checkHalt(undefined).verdict).toBe('fine')
    const halted = checkHalt('wallet 0x01 has sent 3 transactions')
    expect(halted).toMatchObject({ verdict: 'warning' })
    expect(halted.says).toContain('0x01 has sent 3')
  })

  test('of another wallet is a fault', () => {
    expect(checkOwner(undefined).verdict).toBe('fine')
    expect(checkOwner('the state directory belongs to wallet 0x01').verdict).toBe('fault')
  })

  test('that its anchor speaks against is a fault with the ways on as remedy', () => {
    expect(verdicts(checkAnchor([], 1))).toEqual(['fine anchor'])
    const words =
      '/s: this state went back\nNothing was signed. Ways on:\n  1. bring it back\n  2. `b`'
    expect(troubles(checkAnchor([words], 1))).toEqual([
      'fault anchor: /s: this state went back -> bring it back; or `b`',
    ])
  })

  test('that does not prove names file and remedy', () => {
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
    expect(troubles(checkProof({ ...sound, journalFault }, undefined))).toEqual([
      'fault state-proof: /s/journal/1: line 3 was altered -> restore it',
    ])
  })
})

describe('the supervisor', () => {
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

describe('notifications', () => {
  const nobody = {
    ...notifySchema.parse({}),
    digest: undefined,
    heartbeat: undefined,
  } as unknown as NotifySettings
  const one = { ...nobody, telegram: [{ on: [] }] } as unknown as NotifySettings
  const heard = {
    ...one,
    heartbeat: { url: 'https://hc.example/secret' },
  } as unknown as NotifySettings
  test.each([
    ['live', nobody, ['warning receivers']],
    ['dry-run', nobody, ['fine receivers']],
    ['live', one, ['fine receivers', 'warning heartbeat']],
    ['live', heard, ['fine receivers', 'fine heartbeat']],
  ] as const)('in mode %s', (mode, notify, expected) => {
    const checks = checkNotify({ mode, notify })
    expect(verdicts(checks)).toEqual(expected)
    expect(JSON.stringify(checks)).not.toContain('secret')
  })
})
