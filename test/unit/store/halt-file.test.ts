import { mkdirSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  haltFilePath,
  openHaltFile,
  readHaltFile,
  writeHaltFile,
} from '../../../src/control/halt-file.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

describe('the file HALT', () => {
  test('is written for its owner only, blocks with its text, and is gone after it is lifted', () => {
    const dir = temporaryDirectory()
    const halt = openHaltFile(dir)
    expect(halt.blocked()).toBeUndefined()
    expect(writeHaltFile(dir, 'halted by ann')).toBe('made')
    expect(statSync(haltFilePath(dir)).mode & 0o777).toBe(0o600)
    expect(halt.blocked()).toBe(`the file ${haltFilePath(dir)} is there: halted by ann`)
    expect(halt.status()).toBe(halt.blocked())
    halt.lift()
    expect(halt.blocked()).toBeUndefined()
    expect(halt.status()).toBeUndefined()
  })

  test('that exists keeps its text', () => {
    const dir = temporaryDirectory()
    writeHaltFile(dir, 'the first')
    expect(writeHaltFile(dir, 'the second')).toBe('present')
    expect(readFileSync(haltFilePath(dir), 'utf8')).toBe('the first\n')
  })

  test('blocks if it is empty, a directory, or a dangling link', () => {
    for (const make of [
      (file: string) => writeFileSync(file, ''),
      (file: string) => mkdirSync(file),
      (file: string) => symlinkSync('/nowhere/at/all', file),
    ]) {
      const dir = temporaryDirectory()
      const halt = openHaltFile(dir)
      make(haltFilePath(dir))
      expect(halt.status()).toBe(`the file ${haltFilePath(dir)} is there`)
    }
  })

  test('is shown as one short line without control characters', () => {
    const dir = temporaryDirectory()
    writeFileSync(haltFilePath(dir), `stop\u001b[31m now\n${'x'.repeat(5_000)}`)
    expect(readHaltFile(dir)).toEqual({
      tag: 'present',
      detail: `the file ${haltFilePath(dir)} is there: stop [31m now`,
    })
  })

  test('has an unknown status if the directory is gone or has been replaced', () => {
    const dir = join(temporaryDirectory(), 'state')
    mkdirSync(dir)
    const halt = openHaltFile(dir)
    renameSync(dir, `${dir}.away`)
    expect(halt.blocked()).toMatch(/unknown: the directory is not there/)
    expect(halt.status()).toBeUndefined()
    mkdirSync(dir)
    expect(halt.blocked()).toBe(`${dir} is not the directory that it was at the start`)
    expect(() => halt.lift()).toThrow(/not the directory/)
  })
})
