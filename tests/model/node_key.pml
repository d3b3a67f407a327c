/* Node keys, shares and rekey of docs/wire-3.0.md (4.4 to 4.7, 7.1) under an
 * attacker who owns the network AND is a member of the group: he has the shared
 * secret, so every MAC under it is his to make. He may steal the node's key, and
 * the keys of a session's first epoch, at any time.
 *
 * What the keys of a session are made of decides who has them: an ECDH result is
 * known to him exactly when one of its two shares is his. A transcript is the
 * tuple of what both ends hash: kind of proof, suite, both shares. Client i has
 * share i, the one connection of the server share 0, the attacker share 2.
 *
 * Client 0 knows the node's key, client 1 the secret alone. Checked, for the
 * client that knows the key and until the key is stolen: its credential is shown
 * to the node alone; nobody but it is served in its name; what it showed before
 * the theft stays unread after it; an epoch whose ECDH is the ends' own stays
 * unread when the keys of the epoch before leak. And that the model does
 * something: client 1 is deceived (the macro SECRET_IS_ENOUGH claims that it is
 * not, and must fail).
 *
 * Each of the other macros takes one rule away, and must fail: FALLS_BACK,
 * ANY_KEY, NO_SHARE_IN_NONE, SHARES_ARE_KEPT, REKEY_WITHOUT_SHARES,
 * SHARES_NOT_SIGNED, CREDENTIAL_NOT_BOUND.
 */

#define CLIENTS 2
#define HIS 2                 /* the attacker's share */
#define KEY 1
#define SECRET 0
#define RECORDS 1
#define NONE 0
#define TUPLES 36

#define TUPLE(kind, suite, c, s) ((c) + 3 * (s) + 9 * (kind) + 18 * (suite))

/* What a signature of the node covers. */
#ifdef SHARES_NOT_SIGNED
#define SIGNED(kind, suite, c, s) TUPLE(kind, suite, c, 0)
#else
#define SIGNED(kind, suite, c, s) TUPLE(kind, suite, c, s)
#endif

/* Whether a session has an ECDH at all. */
#ifdef NO_SHARE_IN_NONE
#define HAS_ECDH(kind, suite) ((suite) == RECORDS)
#else
#define HAS_ECDH(kind, suite) true
#endif

/* Whether he has the keys of the first epoch: all but the ECDH is known to him. */
#ifdef SHARES_ARE_KEPT
#define HIS_KEYS(kind, suite, c, s) (!HAS_ECDH(kind, suite) || (c) == HIS || (s) == HIS || node_key_stolen)
#else
#define HIS_KEYS(kind, suite, c, s) (!HAS_ECDH(kind, suite) || (c) == HIS || (s) == HIS)
#endif

/* Of the next epoch: made of the one before, and of an ECDH of its own. */
#ifdef REKEY_WITHOUT_SHARES
#define HIS_NEXT_KEYS (first_epoch_leaked)
#else
#define HIS_NEXT_KEYS false
#endif

bool signed_by_node[TUPLES];
bool confirmed[TUPLES];       /* auth of a client, with its credential */
bool asked[TUPLES];           /* a request of a client */
bool node_key_stolen, first_epoch_leaked;
bool shown_before_theft;      /* client 0 has shown its credential to a proof that was the node's */
bool rekeyed;
/* What he knows of client 0. */
bool has_credential, has_request, has_next_request;
/* The one session of client 0 after its auth. */
byte its_suite, its_server;
bool its_session;

/* A credential is good for one transcript (an API key), so that one which was
 * shown to him is of no use elsewhere; a token is not, and is protected by its
 * holder's proof, which is over the transcript too. */
#ifdef CREDENTIAL_NOT_BOUND
#define CAN_USE_CREDENTIAL has_credential
#else
#define CAN_USE_CREDENTIAL false
#endif

proctype run_client(byte i) {
  byte kind, suite, s, shown;
  if :: suite = RECORDS :: suite = NONE fi;
  kind = (i == 0 -> KEY : SECRET);
  /* some welcome arrives; it says by what it is proved, and has some share */
  if :: s = 0 :: s = HIS fi;
  if :: shown = KEY :: shown = SECRET fi;
  if
  :: shown == KEY && kind == KEY && (signed_by_node[SIGNED(KEY, suite, i, s)] || node_key_stolen) -> skip
#ifdef ANY_KEY
  :: shown == KEY && kind == KEY -> skip   /* signed, by a key of his own */
#endif
  :: shown == SECRET && kind == SECRET -> skip   /* every member can make it */
#ifdef FALLS_BACK
  :: shown == SECRET && kind == KEY -> skip
#endif
  :: else -> goto end
  fi;
  atomic {
    /* the credential is shown */
    if
    :: i == 0 ->
         if
         :: !node_key_stolen -> assert(s != HIS); shown_before_theft = true
         :: else -> skip
         fi;
         its_suite = suite; its_server = s; its_session = true
    :: else -> skip
    fi;
#ifdef SECRET_IS_ENOUGH
    assert(s != HIS);
#endif
    confirmed[TUPLE(shown, suite, i, s)] = true
  }
  atomic { asked[TUPLE(shown, suite, i, s)] = true }
  if
  :: i == 0 && suite == RECORDS -> rekeyed = true
  :: else -> skip
  fi;
end: skip
}

/* What he reads of the session of client 0, whenever he can. */
proctype reader() {
  do
  :: atomic { its_session && HIS_KEYS(KEY, its_suite, 0, its_server) && !has_credential ->
       has_credential = true; has_request = true;
       /* shown to the node, and read later: no theft may do that */
       assert(its_server == HIS) }
  :: atomic { rekeyed && its_server != HIS && HIS_NEXT_KEYS && !has_next_request ->
       has_next_request = true; assert(false) }
  :: timeout -> break
  od
}

proctype run_server() {
  byte kind, suite, c;
  /* some hello arrives */
  select(c : 0 .. 2);
  if :: kind = KEY :: kind = SECRET fi;
  if :: suite = RECORDS :: suite = NONE fi;
  if
  :: kind == KEY -> signed_by_node[SIGNED(KEY, suite, c, 0)] = true
  :: else -> skip
  fi;
  /* an auth arrives: of a client, or of him in a client's name */
  if
  :: confirmed[TUPLE(kind, suite, c, 0)] -> skip
  :: HIS_KEYS(kind, suite, c, 0) && CAN_USE_CREDENTIAL -> assert(false)  /* he is client 0 */
  :: timeout -> goto end
  fi;
  /* a request arrives in that session */
  if
  :: asked[TUPLE(kind, suite, c, 0)] -> skip
  :: HIS_KEYS(kind, suite, c, 0) && c == 0 && kind == KEY -> assert(false)  /* he asks in the name of client 0 */
  :: timeout -> skip
  fi;
end: skip
}

proctype thief() { node_key_stolen = true }
proctype leak() { first_epoch_leaked = true }

init {
  byte k;
  atomic {
    for (k : 0 .. CLIENTS - 1) { run run_client(k) }
    run run_server();
    run reader(); run thief(); run leak();
    k = 0
  }
}
