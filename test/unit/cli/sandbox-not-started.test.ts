import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { gastankDeposit } from '../../../src/cli/commands/account/gastank.ts'
import { control } from '../../../src/cli/commands/operate/control.ts'
import { stateRebuild } from '../../../src/cli/commands/state/state.ts'
import type { TargetOptions } from '../../../src/cli/load-files.ts'
import type { ExitCode, Io } from '../../../src/cli/process/io.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'
import { STRATEGY } from '../config/config-fixture.ts'
import { printed } from './reading-fixture.ts'

test.each([
  ['pause', (options: TargetOptions, io: Io) => control({ command: 'pause' }, options, io)],
  ['resume', (options: TargetOptions, io: Io) => control({ command: 'resume' }, options, io)],
  ['state rebuild', stateRebuild],
  ['gastank deposit', (options: TargetOptions, io: Io) => gastankDeposit('0.1', options, io)],
] satisfies readonly (readonly [string, (options: TargetOptions, io: Io) => Promise<ExitCode>])[])(
  '%s before the first run of a sandbox asks to start it and reads no key',
  async (_, command) => {
    const dir = temporaryDirectory()
    mkdirSync(join(dir, 'strategies'))
    writeFileSync(join(dir, 'strategies/weekly-eth.yaml'), STRATEGY)
    const config = join(dir, 'sandbox.yaml')
    writeFileSync(config, 'mode: sandbox\nstateDir: ./data\nstrategiesDir: ./strategies\n')
    const { code, stderr } = await printed((io) => command({ config, isNamed: true }, io))
    expect([code, stderr]).toEqual([
      78,
      `${join(dir, 'data')}: no sandbox has run here yet\n` +
        '  expected: a first run, which creates everything: `npm start`, or `tranched run`\n',
    ])
    expect(existsSync(join(dir, 'data'))).toBe(false)
  },
)
