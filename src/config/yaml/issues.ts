import type { z } from 'zod'
import { nearest } from '../../domain/nearest.ts'
import type { IssueDetails } from '../scalars.ts'
import { type Fault, type Tree, valueAt } from './document.ts'
import type { Path } from './problem.ts'

type Issue = z.core.$ZodIssue

/**
 * Zod's issues in the operator's words. The schemas put what they expected into zod's message slot (see
 * `scalars.ts`); what is wrong is read off the tree, so that no message depends on zod's wording.
 */
export function faultsOfIssues(tree: Tree, issues: readonly Issue[]): Fault[] {
  return issues.flatMap((issue) => faultsOfIssue(tree, issue))
}

function faultsOfIssue(tree: Tree, issue: Issue): Fault[] {
  const path = issue.path.filter((part) => typeof part !== 'symbol')
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownKey([...path, key], key, issue.message))
    case 'invalid_key': {
      const expected = issue.issues[0]?.message ?? 'a plain word'
      return [{ path, at: 'key', message: 'this is no usable name', expected }]
    }
    case 'invalid_union':
      return unionFaults(tree, path, issue)
    case 'custom':
      return [customFault(path, issue)]
    case 'invalid_value':
      return [wordFault(tree, path, issue)]
    default:
      return [{ path, message: shapeMessage(tree, path), expected: issue.message }]
  }
}

/** Unions here are of a scalar and a map, in this order: what was written tells which of them was meant. */
function unionFaults(tree: Tree, path: Path, issue: z.core.$ZodIssueInvalidUnion): Fault[] {
  const value = valueAt(tree, path)
  const meant = typeof value === 'string' ? issue.errors[0] : issue.errors.at(-1)
  if (meant === undefined || value === null || value === undefined || Array.isArray(value))
    return [{ path, message: shapeMessage(tree, path), expected: issue.message }]
  return meant.flatMap((inner) =>
    faultsOfIssue(tree, { ...inner, path: [...path, ...inner.path] } as Issue),
  )
}

function unknownKey(path: Path, key: string, allowed: string): Fault {
  const suggestion = nearest(key, allowed.split(', '))
  return { path, at: 'key', message: 'unknown key', expected: `one of: ${allowed}`, suggestion }
}

function customFault(path: Path, issue: z.core.$ZodIssueCustom): Fault {
  const details = issue.params as IssueDetails | undefined
  const expected = details?.expected ?? issue.message
  return {
    path,
    message: issue.message,
    expected,
    suggestion: details?.suggestion,
    part: details?.part,
  }
}

function wordFault(tree: Tree, path: Path, issue: z.core.$ZodIssueInvalidValue): Fault {
  const value = valueAt(tree, path)
  if (typeof value !== 'string')
    return { path, message: shapeMessage(tree, path), expected: issue.message }
  const suggestion = nearest(value, issue.values.map(String))
  return { path, message: 'this word is not known here', expected: issue.message, suggestion }
}

function shapeMessage(tree: Tree, path: Path): string {
  const value = valueAt(tree, path)
  if (value === undefined) return 'this key is missing'
  if (value === null) return path.length === 0 ? 'this file is empty' : 'this value is empty'
  if (typeof value === 'string') return 'this is a single value'
  if (Array.isArray(value)) return value.length === 0 ? 'this list is empty' : 'this is a list'
  return 'this is a map'
}
