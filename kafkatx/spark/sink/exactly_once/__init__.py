"""``exactlyOnce=true``: each micro-batch of a stream is in its topics once, in transactions.

Three processes take part, in this order for each micro-batch:

*   The driver begins (:mod:`.batch_start`): it fences an earlier run, completes or drops what that has left,
    and learns which batch was decided last.
*   Tasks write (:mod:`.attempt`): each attempt has a transactional id of its own, and leaves its transaction
    open. They tell the driver its identity.
*   The driver commits (:mod:`.batch_commit`): one transaction of its own says which batch it is and which
    transactions belong to it. That is the decision. Then it commits those.

:mod:`.decision` is what is stored. Between two of these steps every process may die.
"""
