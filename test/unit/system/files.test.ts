import { spawnSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeDirectory } from '../../../src/system/directory.ts'
import { type OutputRule, outputFault, placeFile } from '../../../src/system/output-file.ts'
import { openRegular, readRegular } from '../../../src/system/regular-file.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

/** A directory with an entry of every kind. */
function everyKind(): string {
  const dir = temporaryDirectory()
  writeFileSync(join(dir, 'own'), `<!doctype html>\nTHE MARKER\n${'x'.repeat(10_000)}`)
  writeFileSync(join(dir, 'other'), `${'x'.repeat(10_000)}THE MARKER\n`)
  writeFileSync(join(dir, 'empty'), '')
  symlinkSync('own', join(dir, 'link'))
  symlinkSync('nowhere', join(dir, 'dangling'))
  mkdirSync(join(dir, 'folder'))
  expect(spawnSync('mkfifo', [join(dir, 'pipe')]).status).toBe(0)
  return dir
}

describe('an input file', () => {
  test('is read through links, with its permissions', () => {
    const dir = everyKind()
    const { data, mode } = readRegular(join(dir, 'link'), 20_000)
    expect(data.toString()).toMatch(/^<!doctype html>\nTHE MARKER\nx+$/)
    expect(mode & 0o777).toBe(statSync(join(dir, 'own')).mode & 0o777)
  })

  test.each([
    ['pipe', 'ENOTREG'],
    ['/dev/zero', 'ENOTREG'],
    ['folder', 'EISDIR'],
    ['dangling', 'ENOENT'],
  ])('of another type is rejected at once: %s', (name, code) => {
    const file = name.startsWith('/') ? name : join(everyKind(), name)
    for (const open of [openRegular, (path: string) => readRegular(path, 10)])
      expect(() => open(file)).toThrow(expect.objectContaining({ code }))
  })

  test('above the size limit is not read', () => {
    const file = join(everyKind(), 'own')
    expect(() => readRegular(file, 100)).toThrow(expect.objectContaining({ code: 'EFBIG' }))
  })
})

describe('a directory', () => {
  test('is created with its parents, and the topmost new path is returned', () => {
    const dir = temporaryDirectory()
    expect(makeDirectory(join(dir, 'a/b/c'), 0o700)).toBe(join(dir, 'a'))
    expect(statSync(join(dir, 'a/b')).mode & 0o777).toBe(0o700)
    expect(makeDirectory(join(dir, 'a/b/c'), 0o700)).toBeUndefined()
  })

  test.each([
    ['own', 'own', 'EEXIST', 'this is not a directory'],
    ['own/a/b', 'own', 'ENOTDIR', 'this is not a directory'],
    ['dangling', 'dangling', 'EEXIST', 'this is not a directory'],
    ['link/a', 'link', 'ENOTDIR', 'this is not a directory'],
  ])('that cannot be created names the obstacle: %s', (path, inTheWay, code, expected) => {
    const dir = everyKind()
    const text = `${join(dir, inTheWay)}: ${expected}\n  expected: a directory, or a path where there is nothing yet`
    expect(() => makeDirectory(join(dir, path))).toThrow(
      expect.objectContaining({ code, message: text }),
    )
  })

  test.runIf(process.platform === 'linux')('in a place without write support is an error', () => {
    const text = '/proc/none: no directory can be made there\n  expected: another directory'
    expect(() => makeDirectory('/proc/none/a')).toThrow(text)
  })
})

describe('an output', () => {
  const rule: OutputRule = { what: 'a report', marker: 'THE MARKER', force: false, kept: [] }

  test.each([
    ['new', undefined, undefined],
    ['own', undefined, undefined],
    ['other', 'this is there already, and is not a report', undefined],
    ['empty', 'this is there already, and is not a report', undefined],
    ['link', 'this is a link', undefined],
    ['dangling', 'this is a link', undefined],
    ['folder', 'this is a directory', 'this is a directory'],
    ['pipe', 'this is not a regular file', 'this is not a regular file'],
    ['gone/new', /^there is no directory /, /^there is no directory /],
    ['own/new', / is no directory$/, / is no directory$/],
  ])('overwrites only a new path or a file of its kind: %s', (name, plainly, forced) => {
    const file = join(everyKind(), name)
    for (const [force, expected] of [
      [false, plainly],
      [true, forced],
    ] as const) {
      const message = outputFault(file, { ...rule, force })?.message
      if (expected instanceof RegExp) expect(message).toMatch(expected)
      else expect(message).toBe(expected)
    }
  })

  test('never overwrites files named by the config, through any path, even under --force', () => {
    const dir = everyKind()
    linkSync(join(dir, 'own'), join(dir, 'hard'))
    symlinkSync('folder', join(dir, 'way'))
    const kept = [join(dir, 'own'), join(dir, 'key-to-come'), join(dir, 'folder')]
    for (const name of [
      'own',
      'hard',
      'link',
      'key-to-come',
      'folder/new',
      'way/new',
      './folder/../own',
    ])
      expect([name, outputFault(`${dir}/${name}`, { ...rule, force: true, kept })]).toEqual([
        name,
        expect.objectContaining({ message: expect.stringMatching(/^the config names this/) }),
      ])
    expect(outputFault(join(dir, 'new'), { ...rule, kept })).toBeUndefined()
  })

  test('replaces a link, and never its target', () => {
    const dir = everyKind()
    const before = readFileSync(join(dir, 'own'), 'utf8')
    placeFile(join(dir, 'link'), 'new', { mode: 0o600, replaces: true })
    expect(readFileSync(join(dir, 'own'), 'utf8')).toBe(before)
    expect(readFileSync(join(dir, 'link'), 'utf8')).toBe('new')
    expect(statSync(join(dir, 'link')).mode & 0o777).toBe(0o600)
  })

  test('without replacement leaves existing files and creates none', () => {
    const dir = everyKind()
    const names = readdirSync(dir)
    for (const name of ['own', 'dangling'])
      expect(() => placeFile(join(dir, name), 'new', { mode: 0o600, replaces: false })).toThrow(
        expect.objectContaining({ code: 'EEXIST' }),
      )
    expect(readdirSync(dir)).toEqual(names)
    expect(existsSync(join(dir, 'nowhere'))).toBe(false)
  })
})
