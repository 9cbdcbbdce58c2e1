"""What a pipeline holds of its user's: Python objects and functions that a spec cannot represent.

    user_code          all of them, per source
    functions          functions on samples: names in messages, random numbers
    sources            files or an object of the user as a source
"""
